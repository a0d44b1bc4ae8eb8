package telemetry

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/jobhost/jobhost"
)

// fake is an exporter whose ExportSpans is a function.
type fake func(ctx context.Context, spans []sdktrace.ReadOnlySpan) error

func (f fake) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return f(ctx, spans)
}

func (fake) Shutdown(context.Context) error { return nil }

func TestFailedExportsAreLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		down := true
		e := &exporter{
			log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
				if a.Key == slog.TimeKey {
					return slog.Attr{}
				}
				return a
			}})),
			next: fake(func(context.Context, []sdktrace.ReadOnlySpan) error {
				if down {
					return errors.New("refused")
				}
				return nil
			}),
		}
		export := func() {
			if err := e.ExportSpans(t.Context(), make([]sdktrace.ReadOnlySpan, 5)); err != nil {
				t.Errorf("an export returned %v, which the global handler would print", err)
			}
			time.Sleep(20 * time.Second)
		}
		for range 4 { // at 0, 20, 40 and 60 s
			export()
		}
		export()
		down = false
		export()
		export()
		want := []string{
			`level=WARN msg="traces not exported" lost=5 error=refused`,
			`level=WARN msg="traces not exported" lost=15 error=refused`,
			`level=INFO msg="traces are exported again" lost=5`,
		}
		if diff := cmp.Diff(strings.Split(strings.TrimSpace(log.String()), "\n"), want); diff != "" {
			t.Errorf("log (-got +want):\n%s", diff)
		}
	})
}

func TestShutdownIsBounded(t *testing.T) {
	run := jobhost.Run{ID: "019b8d2fd4fa00112233445566778899", Job: "j"}
	hang := fake(func(ctx context.Context, _ []sdktrace.ReadOnlySpan) error {
		<-ctx.Done()
		return ctx.Err()
	})
	for _, tt := range []struct {
		name  string
		flush time.Duration
		limit time.Duration // of the caller's context
		want  time.Duration
	}{
		{"by the default", 0, time.Hour, 3 * time.Second},
		{"by the configuration", 7 * time.Second, time.Hour, 7 * time.Second},
		{"by the caller", 7 * time.Second, time.Second, time.Second},
		{"by a caller who is out of time", 7 * time.Second, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// A goroutine that is left behind fails the bubble.
			synctest.Test(t, func(t *testing.T) {
				tel, err := start(t.Context(), Config{Flush: tt.flush, Logger: slog.New(slog.DiscardHandler)}, hang)
				if err != nil {
					t.Fatal(err)
				}
				tel.Middleware()(func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{} })(t.Context(), jobhost.Call{Run: run})
				ctx, cancel := context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				begun := time.Now()
				err = tel.Shutdown(ctx)
				if took := time.Since(begun); took != tt.want || !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("shutdown took %v and returned %v, want %v and an error of the deadline", took, err, tt.want)
				}
			})
		})
	}
}

func TestRootSpanKeepsTheEnginesClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spans []sdktrace.ReadOnlySpan
		tel, err := start(t.Context(), Config{}, fake(func(_ context.Context, batch []sdktrace.ReadOnlySpan) error {
			spans = append(spans, batch...)
			return nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		started := time.Now().Add(-time.Hour).UTC() // the store's clock is an hour behind this machine's
		run := jobhost.Run{ID: "019b8d2fd4fa00112233445566778899", Job: "j", ScheduledAt: started, StartedAt: started}
		tel.Middleware()(func(context.Context, jobhost.Call) jobhost.Outcome {
			time.Sleep(90 * time.Second)
			return jobhost.Outcome{}
		})(t.Context(), jobhost.Call{Run: run})
		if err := tel.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(spans) != 1 {
			t.Fatalf("%d spans, want 1", len(spans))
		}
		if s := spans[0]; !s.StartTime().Equal(started) || s.EndTime().Sub(s.StartTime()) != 90*time.Second {
			t.Errorf("span from %v to %v, want 90s from %v", s.StartTime(), s.EndTime(), started)
		}
	})
}

func TestWhatIsNoRunIDHasNoSpan(t *testing.T) {
	tel, err := start(t.Context(), Config{}, fake(func(_ context.Context, batch []sdktrace.ReadOnlySpan) error {
		t.Errorf("%d spans were exported", len(batch))
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []jobhost.RunID{"", "run-1", "019b8d2fd4fa00110000000000000000"} { // the last has a span id of zeros
		called := false
		tel.Middleware()(func(_ context.Context, call jobhost.Call) jobhost.Outcome {
			called = call.Run.ID == id && call.Traceparent == ""
			return jobhost.Outcome{}
		})(t.Context(), jobhost.Call{Run: jobhost.Run{ID: id}})
		if !called {
			t.Errorf("the run %q was not passed on as it was", id)
		}
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
}
