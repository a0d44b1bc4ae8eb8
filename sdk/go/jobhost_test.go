package jobhost_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/jobhosttest"
)

func TestRunHasTheFactsOfItsDocument(t *testing.T) {
	at := time.Date(2026, 3, 1, 6, 0, 0, 500_000_000, time.UTC)
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(time.Hour))
	defer cancel()
	host := jobhosttest.Host{Job: "reports.nightly", Trigger: "workdays", Kind: "Retry", Attempt: 2, ScheduledAt: at, Data: map[string]int{"n": 1}}
	got := host.Run(ctx, func(ctx context.Context, run *jobhost.Run) error {
		if run.Job != "reports.nightly" || run.Trigger != "workdays" || run.Kind != "Retry" || run.Attempt != 2 || !run.ScheduledAt.Equal(at) {
			t.Errorf("run %+v", run)
		}
		deadline, ok := ctx.Deadline()
		if d := deadline.Sub(run.Deadline).Abs(); !ok || d > time.Second {
			t.Errorf("the context's deadline is %v, %v; the run's is %v", deadline, ok, run.Deadline)
		}
		if r, ok := jobhost.FromContext(ctx); !ok || r != run {
			t.Errorf("the context has run %v, %v", r, ok)
		}
		return nil
	})
	if got.Err != nil {
		t.Error(got.Err)
	}
}

func TestDataAreReadStrictly(t *testing.T) {
	for _, c := range []struct {
		data any
		want string // part of the error's message
	}{
		{nil, ""},
		{map[string]any{"name": "Ada"}, ""},
		{map[string]any{"nam": "Ada"}, `unknown field "nam"`},
		{map[string]any{"name": 5}, "cannot unmarshal number"},
	} {
		host := jobhosttest.Host{Data: c.data}
		got := host.Run(t.Context(), func(_ context.Context, run *jobhost.Run) error {
			var d struct{ Name string }
			return run.Data(&d)
		})
		switch {
		case c.want == "" && got.Err != nil:
			t.Errorf("data %v: %v", c.data, got.Err)
		case c.want != "" && (got.Code != jobhost.BadData || !got.Permanent || !strings.Contains(got.Message, c.want)):
			t.Errorf("data %v: code %q, permanent %v, message %q; want %q in it", c.data, got.Code, got.Permanent, got.Message, c.want)
		}
	}
}

func TestDataThatAreNoObjectDoNotReachTheHandler(t *testing.T) {
	host := jobhosttest.Host{Data: []int{1}}
	got := host.Run(t.Context(), func(context.Context, *jobhost.Run) error {
		t.Error("the handler was called")
		return nil
	})
	if got.Err == nil || !strings.Contains(got.Message, "JSON object") {
		t.Errorf("error %v", got.Err)
	}
}

func TestWhatAHandlerReturnsIsWhatTheHostIsTold(t *testing.T) {
	plain := errors.New("the disk is full")
	for _, c := range []struct {
		name          string
		err           error
		code, message string
		permanent     bool
	}{
		{"success", nil, "", "", false},
		{"an error", plain, "", "the disk is full", false},
		{"a code", jobhost.Fail("DISK", "full"), "DISK", "full", false},
		{"permanent", jobhost.Permanent(plain), "", "the disk is full", true},
		{"a permanent code", jobhost.Permanent(jobhost.Fail("DISK", "full")), "DISK", "full", true},
		{"a wrapped code", fmt.Errorf("copy: %w", jobhost.Fail("DISK", "full")), "DISK", "copy: full", false},
		{"a wrapped permanent code", fmt.Errorf("copy: %w", jobhost.Permanent(jobhost.Fail("DISK", "full"))), "DISK", "copy: full", true},
		{"a failure without a message", &jobhost.Failure{Code: "DISK", Err: plain}, "DISK", "the disk is full", false},
		{"nothing that is permanent", jobhost.Permanent(nil), "", "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var host jobhosttest.Host
			got := host.Run(t.Context(), func(context.Context, *jobhost.Run) error { return c.err })
			if got.Code != c.code || got.Message != c.message || got.Permanent != c.permanent || !errors.Is(got.Err, c.err) {
				t.Errorf("code %q, message %q, permanent %v, error %v", got.Code, got.Message, got.Permanent, got.Err)
			}
		})
	}
}

func TestOutputIsJSONAndTheLastOneWins(t *testing.T) {
	var host jobhosttest.Host
	got := host.Run(t.Context(), func(_ context.Context, run *jobhost.Run) error {
		if err := run.Output(func() {}); err == nil {
			t.Error("a function was encoded")
		}
		return errors.Join(run.Output("first"), run.Output(map[string]string{"a": "b"}))
	})
	if got.Err != nil || string(got.Output) != `{"a":"b"}` {
		t.Errorf("output %s, error %v", got.Output, got.Err)
	}
}

func TestLogEntriesAreTheMessageAndItsAttributes(t *testing.T) {
	var host jobhosttest.Host
	got := host.Run(t.Context(), func(ctx context.Context, run *jobhost.Run) error {
		run.Log.DebugContext(ctx, "plain")
		run.Log.InfoContext(ctx, "with", slog.String("name", "Ada L."), slog.Int("n", 1))
		run.Log.With(slog.String("shop", "7")).WithGroup("order").WarnContext(ctx, "grouped", slog.String("msg", "m"), slog.String("level", "l"))
		run.Log.ErrorContext(ctx, "", slog.String("level", "high"), slog.String("time", "noon"))
		return nil
	})
	want := []jobhosttest.Entry{
		{Level: slog.LevelDebug, Text: "plain"},
		{Level: slog.LevelInfo, Text: `with name="Ada L." n=1`},
		{Level: slog.LevelWarn, Text: "grouped shop=7 order.msg=m order.level=l"},
		{Level: slog.LevelError, Text: "level=high time=noon"},
	}
	if diff := cmp.Diff(got.Log, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestProgressIsReported(t *testing.T) {
	var host jobhosttest.Host
	got := host.Run(t.Context(), func(_ context.Context, run *jobhost.Run) error {
		run.Progress(1, 3, "a.csv")
		return nil
	})
	if diff := cmp.Diff(got.Progress, []jobhosttest.Progress{{Done: 1, Total: 3, Message: "a.csv"}}); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestValuesSurviveARun(t *testing.T) {
	var host jobhosttest.Host
	host.Run(t.Context(), func(_ context.Context, run *jobhost.Run) error {
		return errors.Join(run.KV.Set("b/1", []byte("x")), run.KV.Save("b/2", 2), run.KV.Set("a", nil), run.KV.Delete("a"), run.KV.Delete("gone"))
	})
	got := host.Run(t.Context(), func(_ context.Context, run *jobhost.Run) error {
		value, err := run.KV.Get("b/1")
		if string(value) != "x" || err != nil {
			t.Errorf("b/1 is %q, %v", value, err)
		}
		var n int
		if found, err := run.KV.Load("b/2", &n); !found || n != 2 || err != nil {
			t.Errorf("b/2 is %d, %v, %v", n, found, err)
		}
		if found, err := run.KV.Load("a", &n); found || n != 2 || err != nil {
			t.Errorf("a is %d, %v, %v", n, found, err)
		}
		if _, err := run.KV.Load("b/1", &n); err == nil {
			t.Error("x was decoded")
		}
		keys, err := run.KV.Keys("b/")
		if diff := cmp.Diff(keys, []string{"b/1", "b/2"}); diff != "" || err != nil {
			t.Errorf("keys: %v\n%s", err, diff)
		}
		return nil
	})
	if got.Err != nil {
		t.Error(got.Err)
	}
	if keys := slices.Sorted(maps.Keys(host.Values)); !slices.Equal(keys, []string{"b/1", "b/2"}) {
		t.Errorf("the host is left with %q", keys)
	}
}

func TestValuesAreRefusedWithAReason(t *testing.T) {
	run := func(host jobhosttest.Host, f func(kv jobhost.KV) error) error {
		return host.Run(t.Context(), func(_ context.Context, run *jobhost.Run) error { return f(run.KV) }).Err
	}
	var free jobhosttest.Host
	denied := jobhosttest.Host{DenyKV: true}
	full := jobhosttest.Host{Values: map[string][]byte{"rest": make([]byte, 1<<20-10)}}
	for name, c := range map[string]struct{ got, want error }{
		"no such key":   {run(free, func(kv jobhost.KV) error { _, err := kv.Get("a"); return err }), jobhost.ErrNotFound},
		"long key":      {run(free, func(kv jobhost.KV) error { return kv.Set(strings.Repeat("k", 257), nil) }), jobhost.ErrTooLarge},
		"empty key":     {run(free, func(kv jobhost.KV) error { return kv.Set("", nil) }), jobhost.ErrBadArgument},
		"large value":   {run(free, func(kv jobhost.KV) error { return kv.Set("a", make([]byte, 64<<10+1)) }), jobhost.ErrTooLarge},
		"full":          {run(full, func(kv jobhost.KV) error { return kv.Set("a", make([]byte, 6)) }), jobhost.ErrLimit},
		"denied get":    {run(denied, func(kv jobhost.KV) error { _, err := kv.Get("a"); return err }), jobhost.ErrDenied},
		"denied set":    {run(denied, func(kv jobhost.KV) error { return kv.Set("a", nil) }), jobhost.ErrDenied},
		"denied delete": {run(denied, func(kv jobhost.KV) error { return kv.Delete("a") }), jobhost.ErrDenied},
		"denied keys":   {run(denied, func(kv jobhost.KV) error { _, err := kv.Keys(""); return err }), jobhost.ErrDenied},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v; want %v", name, c.got, c.want)
		}
	}
}

func TestSpansNestByTheOrderOfTheirStarts(t *testing.T) {
	var host jobhosttest.Host
	got := host.Run(t.Context(), func(ctx context.Context, _ *jobhost.Run) error {
		outer := jobhost.Start(ctx, "outer")
		inner := jobhost.Start(ctx, "inner")
		jobhost.Event(ctx, "now")
		inner.End(errors.New("torn"))
		inner.End(nil) // a second end does nothing
		inner.Set("late", "1")
		outer.Set("n", "1")
		outer.End(nil)
		jobhost.Start(ctx, "open")
		return nil
	})
	want := []jobhosttest.Span{
		{Name: "outer", Attributes: map[string]string{"n": "1"}, Ended: true, OK: true},
		{Name: "inner", Parent: "outer", Attributes: map[string]string{"error.message": "torn"}, Ended: true},
		{Name: "open", Attributes: map[string]string{}},
	}
	if diff := cmp.Diff(got.Spans, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	if !slices.Equal(got.Events, []string{"now"}) {
		t.Errorf("events %q", got.Events)
	}
	span := jobhost.Start(t.Context(), "outside of a run")
	span.Set("a", "b")
	span.End(nil)
}

func TestARunThatIsAskedToStopIsTold(t *testing.T) {
	for name, wait := range map[string]func(context.Context) error{
		"in a sleep of the host": func(ctx context.Context) error { return jobhost.Sleep(ctx, time.Hour) },
		"waiting in Go": func(ctx context.Context) error {
			<-ctx.Done()
			return context.Cause(ctx)
		},
		"computing": func(ctx context.Context) error {
			for ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
			}
			return context.Cause(ctx)
		},
		"in a context made from it": func(ctx context.Context) error {
			ctx, cancel := context.WithTimeout(ctx, time.Hour)
			defer cancel()
			<-ctx.Done()
			return jobhost.Sleep(ctx, time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				time.AfterFunc(time.Minute, stop)
				began := time.Now()
				var host jobhosttest.Host
				got := host.Run(ctx, func(ctx context.Context, _ *jobhost.Run) error { return wait(ctx) })
				if !errors.Is(got.Err, jobhost.ErrStopped) {
					t.Errorf("error %v; want %v", got.Err, jobhost.ErrStopped)
				}
				if took := time.Since(began); took < time.Minute || took > time.Minute+100*time.Millisecond {
					t.Errorf("it took %v; want a minute and at most 100 ms", took)
				}
			})
		})
	}
}

func TestASleepEndsAtTheDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var host jobhosttest.Host
		got := host.Run(t.Context(), func(ctx context.Context, _ *jobhost.Run) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return jobhost.Sleep(ctx, time.Hour)
		})
		if !errors.Is(got.Err, context.DeadlineExceeded) {
			t.Errorf("error %v", got.Err)
		}
	})
}

func TestASleepTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var host jobhosttest.Host
		got := host.Run(t.Context(), func(ctx context.Context, _ *jobhost.Run) error { return jobhost.Sleep(ctx, time.Minute) })
		if took := time.Since(began); got.Err != nil || took != time.Minute {
			t.Errorf("it took %v and returned %v", took, got.Err)
		}
		if err := jobhost.Sleep(t.Context(), time.Minute); err != nil || time.Since(began) != 2*time.Minute {
			t.Errorf("outside of a run it took %v and returned %v", time.Since(began), err)
		}
	})
}
