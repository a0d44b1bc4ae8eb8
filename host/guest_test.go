package host_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

func goCommand(tb testing.TB) *host.Host {
	tb.Helper()
	cfg := host.Defaults()
	cfg.Cache = goCache(tb)
	return newHost(tb, cfg, map[string][]byte{"command": goGuest(tb, "command")})
}

func TestGoCommandRunsAsAProgram(t *testing.T) {
	cfg := host.Defaults()
	cfg.Cache = goCache(t)
	cfg.Grants = []host.Grant{{
		Job: "reports.nightly", Plugin: "command", Args: []string{"-v", "two words"}, Env: map[string]string{"COLOR": "blue", "B": ""},
	}}
	h := newHost(t, cfg, map[string][]byte{"command": goGuest(t, "command")})

	t.Run("output", func(t *testing.T) {
		out, _ := run(t, h, "command", `{"do":"echo","n":7}`)
		wantSuccess(t, out)
		if got := string(out.Output); got != `{"n":7}` {
			t.Errorf("output is %q", got)
		}
		if out.Fuel == 0 || out.PeakMemory < 1<<20 || len(out.Digest) != 64 {
			t.Errorf("fuel %d, peak memory %d, digest %q", out.Fuel, out.PeakMemory, out.Digest)
		}
	})
	t.Run("arguments and environment", func(t *testing.T) {
		out, _ := run(t, h, "command", `{"do":"surroundings"}`)
		wantSuccess(t, out)
		var got struct{ Args, Env []string }
		if err := json.Unmarshal(out.Output, &got); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got.Env)
		if diff := cmp.Diff(got.Args, []string{"reports.nightly", "-v", "two words"}); diff != "" {
			t.Error(diff)
		}
		want := []string{
			"B=", "COLOR=blue", "JOBHOST_ATTEMPT=1", "JOBHOST_DEADLINE=", "JOBHOST_JOB=reports.nightly", "JOBHOST_KIND=Schedule",
			"JOBHOST_NODE=n1", "JOBHOST_RETRY_OF=", "JOBHOST_RUN_ID=019a0b1c2d3e4f5061728394a5b6c7d8",
			"JOBHOST_SCHEDULED_AT=2026-03-01T06:00:00Z", "JOBHOST_TRIGGER=workdays", "TRACEPARENT=",
		}
		if diff := cmp.Diff(got.Env, want); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("exit code and last line", func(t *testing.T) {
		out, s := run(t, h, "command", `{"do":"exit","n":3}`)
		if out.Code != jobhost.Unexpected || out.Message != "the disk is full" || out.Permanent {
			t.Errorf("got %+v", out)
		}
		if got := s.text(); got != "first line\nthe disk is full" {
			t.Errorf("log is %q", got)
		}
	})
	t.Run("FR-42 exit code 65 is permanent", func(t *testing.T) {
		if out, _ := run(t, h, "command", `{"do":"exit","n":65}`); out.Code != jobhost.Unexpected || !out.Permanent {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("a panic is told by its first line", func(t *testing.T) {
		out, s := run(t, h, "command", `{"do":"panic"}`)
		if out.Code != jobhost.Unexpected || out.Message != "panic: boom" {
			t.Errorf("got %+v", out)
		}
		if !strings.Contains(s.text(), "goroutine 1") {
			t.Errorf("log is %q", s.text())
		}
	})
	t.Run("no file without a grant", func(t *testing.T) {
		if out, _ := run(t, h, "command", `{"do":"read","path":"/etc/passwd"}`); out.Code != jobhost.Unexpected || len(out.Output) > 0 {
			t.Errorf("got %+v", out)
		}
	})
}

func TestGoReactorKeepsNothingBetweenRuns(t *testing.T) {
	cfg := host.Defaults()
	cfg.Cache = goCache(t)
	h := newHost(t, cfg, map[string][]byte{"reactor": goGuest(t, "reactor", "-buildmode=c-shared")})
	t.Run("S-159 the second run sees the initial values", func(t *testing.T) {
		for range 2 {
			out, s := run(t, h, "reactor", `{"a":[1,"é"]}`)
			wantSuccess(t, out)
			if got := string(out.Output); got != `{"a":[1,"é"],"calls":1}` {
				t.Errorf("output is %s", got)
			}
			if diff := cmp.Diff(s.levels, []int{4}); diff != "" || s.text() != "called" {
				t.Errorf("log is %q at %v", s.text(), s.levels)
			}
		}
	})
}
