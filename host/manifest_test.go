package host_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// reading is a Config.Manifest for tests: of the form "key", or "key refuses word", where a run with that word in its data is
// refused. A manifest "bad" is refused itself.
func reading(text jobhost.ManifestText) (jobhost.Manifest, error) {
	key, word, refuses := strings.Cut(strings.TrimSpace(string(text.Data)), " refuses ")
	switch {
	case text.Err != nil:
		return jobhost.Manifest{}, text.Err
	case key == "bad":
		return jobhost.Manifest{}, fmt.Errorf("%s:1:1: bad", text.Name)
	}
	m := jobhost.Manifest{Key: text.Plugin}
	if key != "" {
		m.Key = key
	}
	if refuses {
		m.Data = refusing(word)
	}
	return m, nil
}

// refusing is a schema that refuses data with a word in it.
type refusing string

func (r refusing) Check(ctx context.Context, data json.RawMessage, _ bool) error {
	if strings.Contains(string(data), string(r)) {
		return errors.New("/x is " + string(r))
	}
	return ctx.Err()
}

// withSection returns a module with a manifest in it.
func withSection(t *testing.T, module []byte, manifest string) []byte {
	t.Helper()
	bin, err := host.WithManifest(module, []byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// folder is a host over a plugin folder of its own.
func folder(t *testing.T, files map[string][]byte) (*host.Host, string) {
	t.Helper()
	cfg := host.Defaults()
	cfg.Dir, cfg.Manifest = t.TempDir(), reading
	for name, data := range files {
		write(t, filepath.Join(cfg.Dir, name), data)
	}
	h := openHost(t, cfg)
	if err := h.Ready(t.Context()); err != nil && jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
		t.Fatal(err)
	}
	return h, cfg.Dir
}

// wantPlugins checks the plugins: "key file" of each that is ready, "key file: problem" of each that is not, or not as new as
// its file.
func wantPlugins(t *testing.T, h *host.Host, want ...string) {
	t.Helper()
	list, err := h.Plugins(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range list {
		line := p.Key + " " + filepath.Base(p.File)
		if p.Ready {
			line += " ready"
		}
		if p.Problem != "" {
			line += ": " + strings.ReplaceAll(p.Problem, filepath.Dir(p.File)+"/", "")
		}
		got = append(got, line)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("plugins (-got +want):\n%s", diff)
	}
}

func TestAManifestIsFoundInASectionOrBesideTheModule(t *testing.T) {
	bare := says("x")
	_, dir := folder(t, map[string][]byte{
		"both.wasm": withSection(t, bare, "section"), "both.yaml": []byte("file"),
		"inside.wasm": withSection(t, withSection(t, bare, "old"), "new"),
		"beside.wasm": bare, "beside.yaml": {},
		"none.wasm":   bare,
		"broken.wasm": []byte("no module"),
		"cut.wasm":    withSection(t, bare, "section")[:len(bare)+5],
		"alone.yaml":  []byte("nobody's"),
	})
	type found struct {
		name, data string
		json, none bool
	}
	got := map[string]found{}
	for _, m := range host.ReadManifests(dir) {
		if m.Err != nil {
			t.Error(m.Err)
		}
		got[m.Plugin] = found{strings.TrimPrefix(m.Name, dir+"/"), string(m.Data), m.JSON, m.Data == nil}
	}
	want := map[string]found{
		"both": {"both.yaml", "file", false, false}, "inside": {"inside.wasm#jobhost", "new", true, false}, "beside": {"beside.yaml", "", false, false},
		"none": {"none.wasm#jobhost", "", true, true}, "broken": {"broken.wasm#jobhost", "", true, true}, "cut": {"cut.wasm#jobhost", "", true, true},
	}
	if diff := cmp.Diff(got, want, cmp.AllowUnexported(found{})); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestAManifestThatCannotBeReadSaysWhy(t *testing.T) {
	two := wasmtest.New()
	two.Custom("jobhost", []byte("a"))
	two.Custom("jobhost", []byte("b"))
	large := wasmtest.New()
	large.Custom("jobhost", make([]byte, jobhost.MaxManifest+1))
	_, dir := folder(t, map[string][]byte{
		"two.wasm": two.Bytes(), "large.wasm": large.Bytes(),
		"many.wasm": append([]byte("\x00asm\x01\x00\x00\x00"), bytes.Repeat([]byte("\x00\x01\x00"), 10_001)...),
		"side.wasm": says("x"), "side.yaml": make([]byte, jobhost.MaxManifest+1),
		"open.wasm": says("x"), "open.yaml": []byte("k"),
	})
	if err := os.Chmod(filepath.Join(dir, "open.yaml"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.yaml"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "folder.wasm"), says("x"))
	want := map[string]string{
		"two": `the module has two sections "jobhost"; want one`, "large": "at most 256 KiB are allowed", "many": "more than 10000 sections",
		"side": "has more than 256 KiB, which is the most for a manifest", "open": "group or others may write it; chmod go-w it", "folder": "is not a regular file",
	}
	if runtime.GOOS == "windows" {
		delete(want, "open")
	}
	for _, m := range host.ReadManifests(dir) {
		part, ok := want[m.Plugin]
		if ok && (m.Err == nil || !strings.Contains(m.Err.Error(), part) || m.Data != nil) {
			t.Errorf("%s: %v; want %q", m.Plugin, m.Err, part)
		}
	}
	if m := host.ReadManifest(filepath.Join(dir, "open.wasm")); m.Err != nil || string(m.Data) != "k" {
		t.Errorf("a file that somebody chose: %+v", m)
	}
}

func TestAManifestNamesThePlugin(t *testing.T) {
	h, dir := folder(t, map[string][]byte{
		"a.wasm": withSection(t, says("a"), "report"),
		"B.wasm": withSection(t, says("b"), "other"),
		"c.wasm": says("c"),
	})
	wantPlugins(t, h, "c c.wasm ready", "other B.wasm ready", "report a.wasm ready")
	wantOutput(t, h, "report", "a")

	t.Run("and may name it otherwise later", func(t *testing.T) {
		replace(t, filepath.Join(dir, "a.wasm"), withSection(t, says("a2"), "summary"))
		rescan(t, h)
		wantPlugins(t, h, "c c.wasm ready", "other B.wasm ready", "summary a.wasm ready")
		wantOutput(t, h, "summary", "a2")
	})
	t.Run("but not as another", func(t *testing.T) {
		replace(t, filepath.Join(dir, "a.wasm"), withSection(t, says("a3"), "c"))
		rescan(t, h)
		wantPlugins(t, h, "c c.wasm ready", "other B.wasm ready",
			`summary a.wasm ready: a.wasm: its key "c" is that of the plugin in c.wasm already; give one of them another key`)
		wantOutput(t, h, "summary", "a2")
		write(t, filepath.Join(dir, "d.wasm"), withSection(t, says("d"), "other"))
		rescan(t, h)
		wantPlugins(t, h, "c c.wasm ready", `d d.wasm: d.wasm: its key "other" is that of the plugin in B.wasm already; give one of them another key`,
			"other B.wasm ready", `summary a.wasm ready: a.wasm: its key "c" is that of the plugin in c.wasm already; give one of them another key`)
	})
}

func TestAWrongManifestLeavesTheOldVersionActive(t *testing.T) {
	h, dir := folder(t, map[string][]byte{"a.wasm": says("one"), "a.yaml": []byte("k refuses pdf"), "b.wasm": withSection(t, says("b"), "bad")})
	wantPlugins(t, h, "b b.wasm: b.wasm: the manifest is refused: b.wasm#jobhost:1:1: bad", "k a.wasm ready")
	write(t, filepath.Join(dir, "a.yaml"), []byte("bad"))
	rescan(t, h)
	wantPlugins(t, h, "b b.wasm: b.wasm: the manifest is refused: b.wasm#jobhost:1:1: bad",
		"k a.wasm ready: a.wasm: the manifest is refused: a.yaml:1:1: bad")
	if got := h.Manifests(); len(got) != 1 || string(got[0].Data) != "k refuses pdf" {
		t.Errorf("the manifests in force are %+v", got)
	}
	if err := h.CheckData(t.Context(), "k", []byte(`{"x":"pdf"}`), true); err == nil {
		t.Error("the old schema is not in force")
	}
	write(t, filepath.Join(dir, "a.yaml"), []byte("k refuses doc"))
	rescan(t, h)
	if err := h.CheckData(t.Context(), "k", []byte(`{"x":"pdf"}`), true); err != nil {
		t.Errorf("the new schema is not in force: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	rescan(t, h)
	if got := h.Manifests(); len(got) != 0 {
		t.Errorf("without a file: %+v", got)
	}
	wantOutput(t, h, "a", "one")
}

func TestDataThatThePluginDoesNotTakeFailsTheRunBeforeTheGuest(t *testing.T) {
	h, _ := folder(t, map[string][]byte{"a.wasm": withSection(t, says("ran"), "a refuses pdf")})
	out, _ := run(t, h, "a", `{"x":"pdf"}`)
	want := jobhost.Outcome{
		Code: jobhost.InvalidDefinition, Permanent: true, Digest: out.Digest,
		Message: "the plugin was not started, since its schema refuses the data: /x is pdf",
	}
	if diff := cmp.Diff(out, want); diff != "" || out.Digest == "" {
		t.Errorf("-got +want:\n%s", diff)
	}
	out, _ = run(t, h, "a", `{"x":"doc"}`)
	wantSuccess(t, out)
	if string(out.Output) != "ran" {
		t.Errorf("got %+v", out)
	}
	if err := h.CheckData(t.Context(), "unknown", []byte(`{"x":"pdf"}`), true); err != nil {
		t.Errorf("a plugin that is unknown refuses nothing: %v", err)
	}
}

func TestARunThatIsOverIsNotCheckedToTheEnd(t *testing.T) {
	h, _ := folder(t, map[string][]byte{"a.wasm": withSection(t, says("ran"), "a refuses pdf")})
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&jobhost.Error{Code: jobhost.TimedOut, Msg: "the run exceeded its time limit"})
	if out := h.Run(ctx, jobhost.Call{Plugin: "a", Run: sample("{}")}); out.Code != jobhost.TimedOut || out.Permanent {
		t.Errorf("got %+v", out)
	}
}

func TestPutManifestReplacesTheFileWhole(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.wasm")
	write(t, file, says("x"))
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := host.PutManifest(file, []byte(`{"key":"k"}`), file); err != nil {
		t.Fatal(err)
	}
	if m := host.ReadManifest(file); string(m.Data) != `{"key":"k"}` || m.Err != nil {
		t.Errorf("got %+v", m)
	}
	if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("the mode is %v, %v", info.Mode(), err)
	}
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{filepath.Join(filepath.Dir(file), "absent", "b.wasm"), filepath.Dir(file)} {
		if err := host.PutManifest(file, []byte("{}"), to); err == nil {
			t.Errorf("it was written to %s", to)
		}
	}
	if err := host.PutManifest(file, make([]byte, jobhost.MaxManifest+1), file); err == nil {
		t.Error("a manifest that is too large was written")
	}
	after, err := os.ReadFile(file)
	if err != nil || string(after) != string(before) {
		t.Errorf("the file has changed, %v", err)
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(file), ".*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
	if err := os.WriteFile(file, []byte("no module"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := host.PutManifest(file, []byte("{}"), file); err == nil || !strings.Contains(err.Error(), "not a WebAssembly module") {
		t.Errorf("what is no module: %v", err)
	}
}

// Whatever the bytes are, looking for sections ends, and a module gets its manifest back.
func FuzzManifestSection(f *testing.F) {
	f.Add(says("x"), []byte("{}"))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\x09\x07jobhost{"), []byte(""))
	f.Add([]byte("\x00asm\x01\x00\x00\x00\x00\xff\xff\xff\xff\x0f"), []byte("x"))
	f.Fuzz(func(t *testing.T, module, manifest []byte) {
		file := filepath.Join(t.TempDir(), "a.wasm")
		if err := os.WriteFile(file, module, 0o600); err != nil {
			t.Fatal(err)
		}
		host.ReadManifest(file)
		bin, err := host.WithManifest(module, manifest)
		if err != nil {
			return
		}
		if err := os.WriteFile(file, bin, 0o600); err != nil {
			t.Fatal(err)
		}
		if m := host.ReadManifest(file); m.Err != nil || string(m.Data) != string(manifest) {
			t.Errorf("it reads %q, %v", m.Data, m.Err)
		}
	})
}
