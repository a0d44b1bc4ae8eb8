package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/sdk"
)

// recorder is a run's log, progress, values and spans.
type recorder struct {
	log    []string
	said   []string // progress and spans
	values map[string][]byte
}

func (r *recorder) Log(_ int, msg string) { r.log = append(r.log, msg) }

func (r *recorder) Progress(done, total int64, msg string) {
	r.said = append(r.said, fmt.Sprintf("progress %d/%d %s", done, total, msg))
}

func (r *recorder) Get(_ context.Context, key string) ([]byte, bool, error) {
	v, ok := r.values[key]
	return v, ok, nil
}

func (r *recorder) Set(_ context.Context, key string, value []byte) error {
	r.values[key] = value
	return nil
}

func (r *recorder) Delete(_ context.Context, key string) error {
	delete(r.values, key)
	return nil
}

func (r *recorder) Keys(_ context.Context, prefix string) ([]string, error) {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r.values)), func(k string) bool { return !strings.HasPrefix(k, prefix) }), nil
}

// traced is a span of a recorder. The host's own, of requests, are not written down.
type traced struct {
	r    *recorder
	name string
}

func (s traced) note(format string, args ...any) {
	if !strings.HasPrefix(s.name, http.MethodGet) {
		s.r.said = append(s.r.said, s.name+": "+fmt.Sprintf(format, args...))
	}
}

func (s traced) Child(name string) jobhost.Span {
	s.note("child %s", name)
	return traced{s.r, name}
}
func (s traced) SetAttribute(key, value string) { s.note("%s=%s", key, value) }
func (s traced) Event(name string)              { s.note("event %s", name) }
func (s traced) End(ok bool)                    { s.note("end %v", ok) }
func (s traced) Traceparent() string            { return "" }

// compile builds the guest that uses everything in one of the languages.
func compile(t *testing.T, language string, tools toolchain) string {
	t.Helper()
	dir := t.TempDir()
	out := filepath.Join(dir, "all-"+language+".wasm")
	source, err := filepath.Abs(filepath.Join("testdata", "all"))
	if err != nil {
		t.Fatal(err)
	}
	here := filepath.Dir(filepath.Dir(source))
	variable := map[string]string{}
	for v := range strings.FieldsSeq(tools.variables) {
		name, value, _ := strings.Cut(v, "=")
		variable[name] = value
	}
	var commands [][]string
	switch language {
	case "go":
		commands = [][]string{{"go", "build", "-o", out, source}}
	case "c":
		commands = [][]string{{
			variable["CC"], "--target=wasm32-wasi", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I" + filepath.Join(here, "c"),
			"-o", out, filepath.Join(source, "main.c"),
		}}
	case "rust":
		rustc := []string{variable["RUSTC"], "--edition", "2021", "-O", "-D", "warnings", "--target", variable["TARGET"]}
		commands = [][]string{
			append(slices.Clone(rustc), "--crate-type", "rlib", "--crate-name", "jobhost", "--out-dir", dir, filepath.Join(here, "rust", "src", "lib.rs")),
			append(slices.Clone(rustc), "--extern", "jobhost="+filepath.Join(dir, "libjobhost.rlib"), "-o", out, filepath.Join(source, "main.rs")),
		}
	case "assemblyscript":
		if err := os.CopyFS(filepath.Join(dir, "jobhost"), os.DirFS(filepath.Join(here, "assemblyscript", "assembly"))); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(dir, os.DirFS(source)); err != nil {
			t.Fatal(err)
		}
		commands = [][]string{{variable["ASC"], "main.ts", "-O", "-o", filepath.Base(out)}}
	case "javascript":
		script(t, tools, filepath.Join(source, "main.js"), out)
	}
	for _, c := range commands {
		cmd := exec.CommandContext(t.Context(), c[0], c[1:]...)
		cmd.Dir = dir
		if language == "go" {
			cmd.Dir, cmd.Env = here, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		}
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v\n%s", c, err, text)
		}
	}
	return out
}

// TestEverythingTheHostOffersWorksInAllLanguages says which language has no toolchain here.
func TestEverythingTheHostOffersWorksInAllLanguages(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = fmt.Fprintf(w, "hello, asked: %s", r.Header.Get("X-Asked"))
	}))
	defer server.Close()
	cfg := host.Defaults()
	for _, language := range sdk.Languages() {
		cfg.Grants = append(cfg.Grants, host.Grant{
			Job: "a.job", Plugin: "all-" + language, KV: true, HTTP: []host.HTTP{{Host: server.URL, Private: true}},
		})
	}
	h, err := host.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	for _, language := range sdk.Languages() {
		t.Run(language, func(t *testing.T) {
			tools := find(t, language)
			if tools.missing != "" {
				t.Skipf("not built: there is no %s", tools.missing)
			}
			file := compile(t, language, tools)
			key := load(t, h, file)
			data, err := json.Marshal(map[string]string{"url": server.URL})
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := recorder{values: map[string][]byte{}}
			out := h.Run(ctx, jobhost.Call{
				Run: jobhost.Run{
					ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "a.job", Kind: jobhost.KindManual, Attempt: 2, Data: data,
					ScheduledAt: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC),
				},
				Plugin: key, Deadline: time.Now().Add(time.Minute), Stop: make(chan struct{}), Sink: &r, KV: &r, Span: traced{&r, "run"},
			})
			if out.Code != "DONE" || out.Message != "all was called at attempt 2" || !out.Permanent {
				t.Errorf("code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
			}
			var got any
			if err := json.Unmarshal(out.Output, &got); err != nil {
				t.Fatalf("output %q: %v", out.Output, err)
			}
			want := map[string]any{
				"value": "a!", "keys": []any{"a", "b"}, "status": 200.0, "type": "text/plain; charset=utf-8", "body": "hello, asked: yes",
				"limited": true, "job": "a.job",
			}
			if diff := cmp.Diff(got, any(want)); diff != "" {
				t.Errorf("output (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(r.log, []string{"begun"}); diff != "" {
				t.Errorf("log (-got +want):\n%s", diff)
			}
			said := slices.DeleteFunc(r.said, func(s string) bool { return strings.Contains(s, "child "+http.MethodGet) })
			wantSaid := []string{"progress 1/2 half", "run: child outer", "outer: language=any", "outer: event now", "outer: end true"}
			if diff := cmp.Diff(said, wantSaid); diff != "" {
				t.Errorf("progress and spans (-got +want):\n%s", diff)
			}
			in, err := h.Inspect(file)
			if err != nil {
				t.Fatal(err)
			}
			var used []string
			for _, s := range in.Imports {
				if s.Module == abi.Module {
					used = append(used, s.Name)
				}
			}
			slices.Sort(used)
			all := slices.Sorted(maps.Keys(contract(t)))
			if language == "go" || language == "javascript" { // they have the data with the run document
				all = slices.DeleteFunc(all, func(f string) bool { return f == abi.FuncInput })
			}
			if diff := cmp.Diff(used, all); diff != "" {
				t.Errorf("functions (-used +all):\n%s", diff)
			}
		})
	}
}
