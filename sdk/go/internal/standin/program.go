package standin

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"time"
)

// Program is a host for a job that runs as an ordinary program: data from standard input, result to standard output, log
// to standard error, facts from the environment. It has values of its own, which end with it, and everything that the
// program may do is granted. An interrupt asks the run to stop.
type Program struct {
	Values
	*Responses

	in       io.Reader
	out, err io.Writer
	env      func(string) string
	stop     context.Context //nolint:containedctx // it is the request to stop
}

// NewProgram returns a Program.
func NewProgram(in io.Reader, out, err io.Writer, env func(string) string) *Program {
	ctx, _ := signal.NotifyContext(context.Background(), os.Interrupt) // for as long as the process lasts
	return &Program{Values: Values{}, Responses: NewResponses(http.DefaultTransport), in: in, out: out, err: err, env: env, stop: ctx}
}

// Document is made of the environment that a host would give.
func (p *Program) Document() ([]byte, error) {
	data, err := io.ReadAll(p.in)
	if err != nil {
		return nil, err
	}
	if data = bytes.TrimSpace(data); len(data) == 0 {
		data = []byte("{}")
	}
	attempt, err := strconv.Atoi(p.env("JOBHOST_ATTEMPT"))
	if err != nil {
		attempt = 1
	}
	return json.Marshal(map[string]any{
		"id": p.env("JOBHOST_RUN_ID"), "job": p.env("JOBHOST_JOB"), "trigger": p.env("JOBHOST_TRIGGER"),
		"kind": cmp.Or(p.env("JOBHOST_KIND"), "Manual"), "attempt": attempt, "retryOf": p.env("JOBHOST_RETRY_OF"),
		"scheduledAt": p.env("JOBHOST_SCHEDULED_AT"), "deadline": p.env("JOBHOST_DEADLINE"), "node": p.env("JOBHOST_NODE"),
		"traceparent": p.env("TRACEPARENT"), "data": json.RawMessage(data),
	})
}

// Output prints the result; a job that sets it twice prints it twice.
func (p *Program) Output(result []byte) { p.print(p.out, "%s\n", result) }

// Fail prints the failure.
func (p *Program) Fail(code, message string, _ bool) {
	if code != "" {
		message += " (" + code + ")"
	}
	p.print(p.err, "failed: %s\n", message)
}

// Log prints an entry.
func (p *Program) Log(_ int, entry string) { p.print(p.err, "%s\n", entry) }

// Progress prints how far the run is.
func (p *Program) Progress(done, total int64, message string) {
	p.print(p.err, "progress: %d of %d %s\n", done, total, message)
}

func (p *Program) print(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(w, format, args...) // there is nobody to tell
}

// Stopping reports whether the program was interrupted.
func (p *Program) Stopping() bool { return p.stop.Err() != nil }

// Left is never limited.
func (p *Program) Left() (time.Duration, bool) { return 0, false }

// Sleep waits.
func (p *Program) Sleep(d time.Duration) error { return Wait(p.stop, d) }

// Send sends a request.
func (p *Program) Send(head, body []byte) (int32, error) { return p.Responses.Send(p.stop, head, body) }

// SpanStart traces nothing.
func (p *Program) SpanStart(string) int32 { return 1 }

// SpanEnd does nothing.
func (p *Program) SpanEnd(int32, bool) {}

// SpanAttr does nothing.
func (p *Program) SpanAttr(int32, string, string) {}

// Event does nothing.
func (p *Program) Event(string) {}
