package host_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// says returns a module that puts a text into its output.
func says(s string) []byte {
	g := newGuest()
	g.Data(16, []byte(s))
	return g.reactor(g.dump(16, int32(len(s))))
}

// replace puts a new file in place of another at once, as a careful copy does.
func replace(t *testing.T, file string, bin []byte) {
	t.Helper()
	write(t, file+".new", bin)
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

func rescan(t *testing.T, h *host.Host) {
	t.Helper()
	if err := h.Rescan(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := h.Ready(t.Context()); err != nil && jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
		t.Fatal(err)
	}
}

func wantOutput(t *testing.T, h *host.Host, plugin, want string) {
	t.Helper()
	out, _ := run(t, h, plugin, "")
	wantSuccess(t, out)
	if got := string(out.Output); got != want {
		t.Errorf("plugin %s says %q, want %q", plugin, got, want)
	}
}

func TestAChangedFileReplacesThePluginOnceItIsGood(t *testing.T) {
	var changes atomic.Int32
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	cfg.Changed = func() { changes.Add(1) }
	file := filepath.Join(cfg.Dir, "p.wasm")
	write(t, file, says("one"))
	h := openHost(t, cfg)
	wantOutput(t, h, "p", "one")

	replace(t, file, says("two"))
	rescan(t, h)
	wantOutput(t, h, "p", "two")

	replace(t, file, []byte("broken"))
	rescan(t, h)
	wantOutput(t, h, "p", "two")
	list, err := h.Plugins(t.Context())
	if err != nil || len(list) != 1 || !list[0].Ready || !strings.Contains(list[0].Problem, "not a WebAssembly module") {
		t.Errorf("a broken new file: %+v, %v", list, err)
	}
	if err := h.Ready(t.Context(), "p"); err != nil {
		t.Errorf("the old version runs, but Ready says %v", err)
	}

	replace(t, file, says("three"))
	rescan(t, h)
	wantOutput(t, h, "p", "three")
	if list, err = h.Plugins(t.Context()); err != nil || list[0].Problem != "" {
		t.Errorf("a good file again: %+v, %v", list, err)
	}

	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	rescan(t, h)
	if out, _ := run(t, h, "p", ""); out.Code != jobhost.NotFoundPlugin {
		t.Errorf("the file is gone, but a run gave %+v", out)
	}
	if got := changes.Load(); got != 5 {
		t.Errorf("told of %d changes, want 5", got)
	}
}

// blocker is a sink that holds a run up at its first line.
type blocker struct{ reached, leave chan struct{} }

func (b *blocker) Log(int, string) {
	close(b.reached)
	<-b.leave
}

func (*blocker) Progress(int64, int64, string) {}

func TestARunFinishesOnTheVersionItBeganWith(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("old"))
	old := g.reactor(g.call("log", 0, 16, 3), g.dump(16, 3))
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	file := filepath.Join(cfg.Dir, "p.wasm")
	write(t, file, old)
	h := openHost(t, cfg)
	b := &blocker{make(chan struct{}), make(chan struct{})}
	done := make(chan jobhost.Outcome)
	go func() { done <- h.Run(context.Background(), jobhost.Call{Plugin: "p", Run: sample(""), Sink: b}) }()
	<-b.reached
	replace(t, file, says("new"))
	rescan(t, h)
	wantOutput(t, h, "p", "new")
	close(b.leave)
	out := <-done
	wantSuccess(t, out)
	if string(out.Output) != "old" {
		t.Errorf("the run that was going on says %q", out.Output)
	}
	now, err := h.Plugins(t.Context())
	if err != nil || now[0].Digest == out.Digest {
		t.Errorf("both versions have the digest %s, %v", out.Digest, err)
	}
}

func TestFilesWithEqualBytesShareTheirCode(t *testing.T) {
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	for _, key := range []string{"a", "b", "c"} {
		write(t, filepath.Join(cfg.Dir, key+".wasm"), says("same"))
	}
	h := openHost(t, cfg)
	for _, key := range []string{"a", "b"} {
		if err := os.Remove(filepath.Join(cfg.Dir, key+".wasm")); err != nil {
			t.Fatal(err)
		}
		rescan(t, h)
		wantOutput(t, h, "c", "same")
	}
}

func TestTheWatcherSeesANewFile(t *testing.T) {
	changed := make(chan struct{}, 16)
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	cfg.Watch = true
	cfg.Changed = func() { changed <- struct{}{} }
	h := openHost(t, cfg)
	replace(t, filepath.Join(cfg.Dir, "late.wasm"), says("here"))
	<-changed
	wantOutput(t, h, "late", "here")
}

func TestGrantsCanBeReplaced(t *testing.T) {
	h := newHost(t, host.Defaults(), map[string][]byte{"p": says(strings.Repeat("x", 100))})
	wantOutput(t, h, "p", strings.Repeat("x", 100))
	if err := h.SetGrants([]host.Grant{{Job: "reports.nightly", Plugin: "p", MaxOutput: 10}, {Job: "other", Plugin: "p", MaxOutput: 3}}); err != nil {
		t.Fatal(err)
	}
	wantOutput(t, h, "p", strings.Repeat("x", 10))
	if err := h.SetGrants([]host.Grant{{Job: "reports.nightly", Plugin: "p", MaxOutput: -1}}); jobhost.CodeOf(err) != jobhost.InvalidDefinition {
		t.Errorf("a wrong grant gave %v", err)
	}
	wantOutput(t, h, "p", strings.Repeat("x", 10))
}

func TestCloseEndsRuns(t *testing.T) {
	g := newGuest()
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	write(t, filepath.Join(cfg.Dir, "p.wasm"), g.reactor(g.call("log", 0, 0, 0), wasmtest.I64Const(3_600_000), g.call("sleep_ms")))
	h := openHost(t, cfg)
	b := &blocker{make(chan struct{}), make(chan struct{})}
	close(b.leave)
	done := make(chan jobhost.Outcome)
	go func() { done <- h.Run(context.Background(), jobhost.Call{Plugin: "p", Run: sample(""), Sink: b}) }()
	<-b.reached
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	out := <-done
	if diff := cmp.Diff(out.Code, jobhost.Canceled); diff != "" {
		t.Error(diff)
	}
	if out, _ := run(t, h, "p", ""); out.Code != jobhost.Canceled {
		t.Errorf("a run after Close gave %+v", out)
	}
}
