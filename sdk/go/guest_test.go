package jobhost_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	root "github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
)

// build makes a module of a package.
func build(t *testing.T, dir, pkg string, flags ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "guest.wasm")
	cmd := exec.CommandContext(t.Context(), "go", append(append([]string{"build", "-o", file}, flags...), pkg)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// said is a run's log.
type said []string

func (s *said) Log(level int, msg string) { *s = append(*s, levelName[level]+msg) }

var levelName = map[int]string{abi.Info: "info: ", abi.Warn: "warn: ", abi.Error: "error: "}

func (s *said) Progress(int64, int64, string) {}

func TestTheSameJobIsACommandAndAReactor(t *testing.T) {
	for kind, flags := range map[string][]string{abi.Command: nil, abi.Reactor: {"-buildmode=c-shared", "-tags=reactor"}} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			file := build(t, ".", "./testdata/guest", flags...)
			h, err := host.New(t.Context(), host.Defaults())
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close(context.Background())
			if _, err := h.Load(t.Context(), "guest", file); err != nil {
				t.Fatal(err)
			}
			at := time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC)
			run := func(do string, stopAfter time.Duration) (root.Outcome, said) {
				stop := make(chan struct{})
				if stopAfter > 0 {
					time.AfterFunc(stopAfter, func() { close(stop) })
				}
				var log said
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				data, err := json.Marshal(map[string]string{"do": do})
				if err != nil {
					t.Fatal(err)
				}
				return h.Run(ctx, root.Call{
					Run:    root.Run{ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "a.job", Kind: root.KindManual, Attempt: 2, ScheduledAt: at, Data: data},
					Plugin: "guest", Deadline: time.Now().Add(time.Minute), Stop: stop, Sink: &log,
				}), log
			}

			out, log := run("facts", 0)
			if diff := cmp.Diff(string(out.Output), `{"due":"2026-03-01T06:00:00Z","job":"a.job","kind":"Manual","limited":true}`); diff != "" || out.Code != "" {
				t.Errorf("facts: %s (%s)\n%s", out.Message, out.Code, diff)
			}
			if diff := cmp.Diff(log, said{"warn: asked attempt=2"}); diff != "" {
				t.Errorf("log (-got +want):\n%s", diff)
			}
			for _, c := range []struct {
				do, message string
				code        root.Code
				permanent   bool
			}{
				{"fail", "it is broken", "BROKEN", false},
				{"permanent", "it stays broken", root.Unexpected, true},
			} {
				if out, _ := run(c.do, 0); out.Code != c.code || out.Message != c.message || out.Permanent != c.permanent {
					t.Errorf("%s: code %q, message %q, permanent %v", c.do, out.Code, out.Message, out.Permanent)
				}
			}
			for _, do := range []string{"sleep", "wait"} {
				began := time.Now()
				out, _ := run(do, 50*time.Millisecond)
				if took := time.Since(began); out.Code != root.Canceled || took > 30*time.Second {
					t.Errorf("%s: %q after %v: %s", do, out.Code, took, out.Message)
				}
			}
		})
	}
}

// An operator decides by what a module imports, so it must not import what its job does not use.
func TestAModuleImportsOnlyWhatItsJobUses(t *testing.T) {
	h, err := host.New(t.Context(), host.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	in, err := h.Inspect(build(t, ".", "./testdata/guest"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range in.Imports {
		if s.Module == abi.Module {
			got = append(got, s.Name)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(strings.Join(got, " "), "cancelled deadline_ms fail log output run sleep_ms"); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}
