package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// digestNow is the digest of the version of a plugin that runs.
func digestNow(t *testing.T, h *host.Host, plugin string) string {
	t.Helper()
	list, err := h.Plugins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range list {
		if p.Key == plugin {
			return p.Digest
		}
	}
	t.Fatalf("there is no plugin %s", plugin)
	return ""
}

func replay(t *testing.T, h *host.Host, digest string, granted bool) jobhost.Outcome {
	t.Helper()
	return h.Replay(t.Context(), jobhost.Call{Plugin: "p", Run: sample("")}, digest, granted)
}

// keeping returns a configuration with a plugin p of these versions, the last of which is there.
func keeping(t *testing.T, keep int, versions ...string) (h *host.Host, cfg host.Config, digests []string) {
	t.Helper()
	cfg = host.Defaults()
	cfg.Dir, cfg.Modules, cfg.KeepVersions = t.TempDir(), filepath.Join(t.TempDir(), "modules"), keep
	for _, v := range versions {
		replace(t, filepath.Join(cfg.Dir, "p.wasm"), says(v))
		if h == nil {
			h = openHost(t, cfg)
		} else {
			rescan(t, h)
		}
		digests = append(digests, digestNow(t, h, "p"))
	}
	return h, cfg, digests
}

func TestAnEarlierVersionCanBeReplayed(t *testing.T) {
	h, cfg, digests := keeping(t, 2, "one", "two", "three")
	check := func(t *testing.T, h *host.Host) {
		t.Helper()
		for i, want := range map[int]string{1: "two", 2: "three"} {
			out := replay(t, h, digests[i], false)
			wantSuccess(t, out)
			if string(out.Output) != want || out.Digest != digests[i] {
				t.Errorf("version %d says %q and has the digest %s", i, out.Output, out.Digest)
			}
		}
		out := replay(t, h, digests[0], false)
		if out.Code != jobhost.NotFoundPlugin || !strings.Contains(out.Message, digests[0]+" is not kept any more") || out.Digest != "" {
			t.Errorf("a version that is not kept: %+v", out)
		}
		wantOutput(t, h, "p", "three")
	}
	check(t, h)
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if out := replay(t, h, digests[2], false); out.Code != jobhost.Canceled {
		t.Errorf("after Close: %+v", out)
	}
	check(t, openHost(t, cfg))
	for _, digest := range []string{"", "../../etc/passwd", strings.Repeat("0", 64)} {
		if out := replay(t, openHost(t, cfg), digest, false); out.Code != jobhost.NotFoundPlugin {
			t.Errorf("digest %q: %+v", digest, out)
		}
	}
}

func TestWhatIsKeptIsPrivateAndTidy(t *testing.T) {
	h, cfg, digests := keeping(t, 2, "one", "two", "three", "two")
	write(t, filepath.Join(cfg.Dir, "q.wasm"), says("one")) // another plugin has the same
	rescan(t, h)
	names := func() (names []string) {
		files, err := os.ReadDir(cfg.Modules)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			names = append(names, f.Name())
			if info, err := f.Info(); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, mode %v", f.Name(), err, info.Mode())
			}
		}
		return names
	}
	want := map[string]bool{"versions.json": true, digests[0] + ".wasm": true, digests[1] + ".wasm": true, digests[2] + ".wasm": true}
	got := map[string]bool{}
	for _, n := range names() {
		got[n] = true
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Error(diff)
	}
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-100 * 24 * time.Hour)
	for name, old := range map[string]bool{strings.Repeat("a", 64) + ".wasm": true, ".1.tmp": true, strings.Repeat("b", 64) + ".wasm": false} {
		write(t, filepath.Join(cfg.Modules, name), []byte("x"))
		if old {
			if err := os.Chtimes(filepath.Join(cfg.Modules, name), long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	openHost(t, cfg)
	if n := len(names()); n != len(want)+1 {
		t.Errorf("after a start there are %v", names())
	}
}

func TestADamagedVersionIsNotReplayed(t *testing.T) {
	h, cfg, digests := keeping(t, 5, "one", "two")
	file := filepath.Join(cfg.Modules, digests[0]+".wasm")
	write(t, file, says("something else"))
	out := replay(t, h, digests[0], false)
	if out.Code != jobhost.NotFoundPlugin || !strings.Contains(out.Message, file+" is damaged") {
		t.Errorf("got %+v", out)
	}
	t.Run("a damaged index only forgets which plugin had what", func(t *testing.T) {
		write(t, filepath.Join(cfg.Modules, "versions.json"), []byte("{"))
		again := openHost(t, cfg)
		wantSuccess(t, replay(t, again, digests[1], false))
	})
	t.Run("nothing is kept without a folder", func(t *testing.T) {
		cfg.Modules = ""
		out := replay(t, openHost(t, cfg), digests[0], false)
		if out.Code != jobhost.NotFoundPlugin || !strings.Contains(out.Message, "no others are kept") {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("a folder that cannot be made is no reason to stop", func(t *testing.T) {
		cfg.Modules = filepath.Join(file, "modules")
		wantOutput(t, openHost(t, cfg), "p", "two")
	})
}

func TestAReplayIsGrantedNothingUnlessAsked(t *testing.T) {
	h, _, digests := keeping(t, 5, strings.Repeat("x", 100))
	if err := h.SetGrants([]host.Grant{{Job: "reports.nightly", Plugin: "p", MaxOutput: 10}}); err != nil {
		t.Fatal(err)
	}
	for granted, want := range map[bool]int{false: 100, true: 10} {
		out := replay(t, h, digests[0], granted)
		wantSuccess(t, out)
		if len(out.Output) != want {
			t.Errorf("granted %v: %d bytes, want %d", granted, len(out.Output), want)
		}
	}
}

func TestAReplayHasItsLimit(t *testing.T) {
	cfg := host.Defaults()
	cfg.Dir, cfg.Modules = t.TempDir(), filepath.Join(t.TempDir(), "modules")
	write(t, filepath.Join(cfg.Dir, "p.wasm"), runaways()["loop"])
	h := openHost(t, cfg)
	digest := digestNow(t, h, "p")
	replace(t, filepath.Join(cfg.Dir, "p.wasm"), says("mended"))
	rescan(t, h)
	out := h.Replay(t.Context(), jobhost.Call{Plugin: "p", Run: sample(""), Deadline: time.Now().Add(100 * time.Millisecond)}, digest, false)
	wantTimeout(t, out)
}

func TestVersionsAreCheckedInTheConfiguration(t *testing.T) {
	cfg := host.Defaults()
	cfg.Modules, cfg.KeepVersions = t.TempDir(), 0
	cfg.Grants = []host.Grant{{Job: "a", Plugin: "p", Dirs: []host.Dir{{Host: cfg.Modules, Guest: "/m"}}}}
	_, err := host.New(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), "keep_versions is 0") || !strings.Contains(err.Error(), "overlaps "+cfg.Modules) {
		t.Errorf("got %v", err)
	}
}

func TestAReplayStartsItsClockAtThePlannedTime(t *testing.T) {
	g := newGuest()
	clock := g.ImportFunc("wasi_snapshot_preview1", "clock_time_get", "i32 i64 i32 -> i32")
	planned := sample("").ScheduledAt.UnixNano()
	bin := g.reactor( // which returns 0 if it is within a minute after the planned time
		wasmtest.I32Const(0), wasmtest.I64Const(1), wasmtest.I32Const(64), wasmtest.Op(wasmtest.Call, clock), drop,
		wasmtest.I32Const(64), wasmtest.Op(wasmtest.I64Load, 3, 0), wasmtest.I64Const(planned), []byte{wasmtest.I64Sub},
		wasmtest.I64Const(int64(time.Minute)), []byte{0x54, wasmtest.I32Eqz})
	h := newHost(t, host.Defaults(), map[string][]byte{"p": bin})
	wantSuccess(t, replay(t, h, digestNow(t, h, "p"), false))
	if out, _ := run(t, h, "p", ""); out.Code == "" {
		t.Error("a run sees the planned time without a grant")
	}
}

func TestAFileThatMayNotHaveAKeyDropsNoModulesOfIt(t *testing.T) {
	h, cfg, digests := keeping(t, 1, "good")
	for _, v := range []string{"evil", "evil2"} {
		replace(t, filepath.Join(cfg.Dir, "zzz.wasm"), withSection(t, says(v), "p"))
		cfg.Manifest = reading
		if err := h.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		h = openHost(t, cfg)
		rescan(t, h)
	}
	takeAway(t, cfg.Dir, "p.wasm")
	rescan(t, h)
	out := replay(t, h, digests[0], false)
	if wantSuccess(t, out); string(out.Output) != "good" {
		t.Errorf("got %+v", out)
	}
}

func TestPluginsThatHaveBeenGoneForLongAreForgotten(t *testing.T) {
	h, cfg, digests := keeping(t, 2, "first")
	var last string
	for i := range 22 {
		name := fmt.Sprintf("q%d", i)
		write(t, filepath.Join(cfg.Dir, name+".wasm"), says(name))
		rescan(t, h)
		last = digestNow(t, h, name)
		takeAway(t, cfg.Dir, name+".wasm")
	}
	takeAway(t, cfg.Dir, "p.wasm")
	rescan(t, h)
	if out := replay(t, h, digests[0], false); out.Code != jobhost.NotFoundPlugin {
		t.Errorf("the oldest: %+v", out)
	}
	wantSuccess(t, replay(t, h, last, false))
	if files, err := filepath.Glob(filepath.Join(cfg.Modules, "*.wasm")); err != nil || len(files) != 20 {
		t.Errorf("%d modules are kept, %v", len(files), err)
	}
}
