package jobhost

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// logHandler writes records into the run's log: the message, then the attributes as key=value. The host keeps level and
// time itself.
type logHandler struct {
	text slog.Handler // writes attributes into line
	line *line
}

// line is where a record is put together.
type line struct {
	host wire.Host

	mu   sync.Mutex
	text bytes.Buffer
}

func newLogHandler(h wire.Host) slog.Handler {
	l := &line{host: h}
	return logHandler{text: slog.NewTextHandler(&l.text, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: attributesOnly}), line: l}
}

// attributesOnly removes what a text handler writes by itself.
func attributesOnly(groups []string, a slog.Attr) slog.Attr {
	if len(groups) > 0 {
		return a
	}
	if _, level := a.Value.Any().(slog.Level); a.Key == slog.LevelKey && level {
		return slog.Attr{}
	}
	if a.Key == slog.MessageKey && a.Value.Kind() == slog.KindString && a.Value.String() == "" {
		return slog.Attr{}
	}
	return a
}

// Enabled implements [slog.Handler]. The host takes every level.
func (h logHandler) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	bare := r.Clone()
	bare.Message, bare.Time = "", time.Time{} // a text handler leaves out the zero time
	h.line.mu.Lock()
	defer h.line.mu.Unlock()
	h.line.text.Reset()
	if err := h.text.Handle(ctx, bare); err != nil {
		return err
	}
	attributes := strings.TrimSuffix(h.line.text.String(), "\n")
	h.line.host.Log(int(r.Level), strings.Join(slices.DeleteFunc([]string{r.Message, attributes}, empty), " "))
	return nil
}

func empty(s string) bool { return s == "" }

// WithAttrs implements [slog.Handler].
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.text.WithAttrs(attrs), h.line}
}

// WithGroup implements [slog.Handler].
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.text.WithGroup(name), h.line}
}
