package standin_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/internal/standin"
)

// drive runs a job as an ordinary program, and returns what it printed.
func drive(t *testing.T, in string, env map[string]string, f jobhost.Handler) (out, talk string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	p := standin.NewProgram(strings.NewReader(in), &stdout, &stderr, func(name string) string { return env[name] })
	err = jobhost.Drive(t.Context(), p, f)
	return stdout.String(), stderr.String(), err
}

func TestAJobIsAnOrdinaryProgramToo(t *testing.T) {
	env := map[string]string{"JOBHOST_JOB": "greet", "JOBHOST_ATTEMPT": "3", "JOBHOST_SCHEDULED_AT": "2026-03-01T06:00:00Z"}
	out, talk, err := drive(t, ` {"name": "Ada"} `, env, func(ctx context.Context, run *jobhost.Run) error {
		var d struct{ Name string }
		if err := run.Data(&d); err != nil {
			return err
		}
		span := jobhost.Start(ctx, "greet")
		run.Log.InfoContext(ctx, "greeting", slog.String("name", d.Name))
		run.Progress(1, 2, "half")
		jobhost.Event(ctx, "now")
		span.Set("a", "b")
		span.End(nil)
		if run.Job != "greet" || run.Attempt != 3 || run.Kind != "Manual" || run.ScheduledAt.Year() != 2026 {
			t.Errorf("run %+v", run)
		}
		if _, limited := ctx.Deadline(); limited {
			t.Error("it has a deadline")
		}
		if err := run.KV.Set("k", []byte("v")); err != nil {
			return err
		}
		if v, err := run.KV.Get("k"); string(v) != "v" || err != nil {
			t.Errorf("k is %q, %v", v, err)
		}
		return errors.Join(jobhost.Sleep(ctx, time.Millisecond), run.Output("Hello, "+d.Name))
	})
	if diff := cmp.Diff([]string{out, talk}, []string{"\"Hello, Ada\"\n", "greeting name=Ada\nprogress: 1 of 2 half\n"}); diff != "" || err != nil {
		t.Errorf("%v, printed (-got +want):\n%s", err, diff)
	}
}

func TestAProgramWithoutInputHasNoData(t *testing.T) {
	_, talk, err := drive(t, "", nil, func(_ context.Context, run *jobhost.Run) error {
		if string(run.Raw) != "{}" || run.Attempt != 1 {
			t.Errorf("data %s, attempt %d", run.Raw, run.Attempt)
		}
		return jobhost.Fail("BROKEN", "it is broken")
	})
	if err == nil || talk != "failed: it is broken (BROKEN)\n" {
		t.Errorf("%v, printed %q", err, talk)
	}
}

func TestAProgramWhoseInputIsBrokenFails(t *testing.T) {
	var out, talk bytes.Buffer
	p := standin.NewProgram(iotest.ErrReader(errors.New("torn")), &out, &talk, func(string) string { return "" })
	err := jobhost.Drive(t.Context(), p, func(context.Context, *jobhost.Run) error {
		t.Error("the handler was called")
		return nil
	})
	if err == nil || talk.String() != "failed: run document: torn\n" {
		t.Errorf("%v, printed %q", err, &talk)
	}
}
