package sdk_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

// example builds an example that is not in Go, as `make plugins` does.
func example(t *testing.T, name, language string) string {
	t.Helper()
	tools := find(t, language)
	if tools.missing != "" {
		t.Skipf("not built: there is no %s", tools.missing)
	}
	out := t.TempDir()
	args := append([]string{"-C", filepath.Join("..", "plugins", "examples"), name, "OUT=" + out, "BUILD=" + filepath.Join(out, "build")}, strings.Fields(tools.variables)...)
	if text, err := exec.CommandContext(t.Context(), "make", args...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return filepath.Join(out, name+".wasm")
}

// once loads a plugin with a grant and runs it.
func once(t *testing.T, file string, g host.Grant, r *recorder, data any) jobhost.Outcome {
	t.Helper()
	cfg := host.Defaults()
	cfg.Cache = filepath.Join(filepath.Dir(file), "cache") // compiled once
	g.Job, g.Plugin = "a.job", strings.TrimSuffix(filepath.Base(file), ".wasm")
	cfg.Grants = []host.Grant{g}
	h, err := host.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close(context.Background())
	key := load(t, h, file)
	raw, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	return h.Run(ctx, jobhost.Call{
		Run:    jobhost.Run{ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "a.job", Kind: jobhost.KindManual, Attempt: 1, Data: raw},
		Plugin: key, Stop: make(chan struct{}), Sink: r, KV: r,
	})
}

// describesItself checks the manifest that a macro of the SDK put into a module.
func describesItself(t *testing.T, file string, key jobhost.Name) {
	t.Helper()
	m, err := config.ReadManifest(host.ReadManifest(file), nil)
	if err != nil || m.Key != key || !m.Text.JSON || m.Description == "" || len(m.Schema) == 0 || len(m.Wants) != 1 {
		t.Errorf("the manifest of %s: %+v, %v", file, m, err)
	}
}

// folder is a directory with files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

// sums is a folder whose list names these files, and the list's other lines.
func sums(t *testing.T, files map[string]string, more ...string) string {
	t.Helper()
	lines := more
	for name, text := range files {
		lines = append(lines, sum(text)+"  "+name)
	}
	dir := folder(t, files)
	if err := os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

var summed = map[string]string{
	"a": "abc", "empty": "", "sub/b c": strings.Repeat("x", 1_000_000), "l55": strings.Repeat("l", 55), "l56": strings.Repeat("l", 56),
	"l63": strings.Repeat("l", 63), "l64": strings.Repeat("l", 64), "l119": strings.Repeat("l", 119), "l120": strings.Repeat("l", 120),
}

func TestChecksumTellsWhichFilesHaveChanged(t *testing.T) {
	file := example(t, "checksum", "c")
	describesItself(t, file, "checksum")
	check := func(dir string) (jobhost.Outcome, []string) {
		var r recorder
		return once(t, file, host.Grant{Dirs: []host.Dir{{Host: dir, Guest: "/data"}}}, &r, map[string]string{"sums": "/data/SHA256SUMS"}), r.log
	}
	out, log := check(sums(t, summed, "# a comment", ""))
	if out.Code != "" || string(out.Output) != `{"files":9,"ok":9,"changed":0,"missing":0,"bad_lines":0}` {
		t.Errorf("output %s, code %q: %s, log %q", out.Output, out.Code, out.Message, log)
	}
	out, log = check(sums(t, map[string]string{"a": "abc"}, strings.ToUpper(sum("other"))+" *a", sum("gone")+"  gone", "rubbish"))
	if out.Code != "CHECKSUM_MISMATCH" || !out.Permanent || string(out.Output) != `{"files":3,"ok":1,"changed":1,"missing":1,"bad_lines":1}` {
		t.Errorf("output %s, code %q: %s", out.Output, out.Code, out.Message)
	}
	want := []string{"a is another file than it was", "gone cannot be read", "line 3 is no digest and name"}
	if diff := cmp.Diff(log, want); diff != "" {
		t.Errorf("log (-got +want):\n%s", diff)
	}
	var r recorder
	if out := once(t, file, host.Grant{}, &r, map[string]int{}); out.Code != "BAD_DATA" || !out.Permanent {
		t.Errorf("without data: code %q: %s", out.Code, out.Message)
	}
}

func TestChecksumIsAnOrdinaryProgramToo(t *testing.T) {
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("not built: there is no C compiler for this machine")
	}
	program := filepath.Join(t.TempDir(), "checksum")
	source := filepath.Join("..", "plugins", "examples", "checksum")
	cmd := exec.CommandContext(t.Context(), cc, "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-Ic", "-o", program,
		filepath.Join(source, "main.c"), filepath.Join(source, "sha256.c"))
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	dir := sums(t, summed)
	cmd = exec.CommandContext(t.Context(), program)
	cmd.Stdin = strings.NewReader(fmt.Sprintf(`{"sums": %q}`, filepath.Join(dir, "SHA256SUMS")))
	out, err := cmd.Output()
	if got := strings.TrimSpace(string(out)); err != nil || got != `{"files":9,"ok":9,"changed":0,"missing":0,"bad_lines":0}` {
		t.Errorf("output %s, %v", got, err)
	}
}

func TestDedupeFindsCopies(t *testing.T) {
	file := example(t, "dedupe", "rust")
	describesItself(t, file, "dedupe")
	dir := folder(t, map[string]string{"a.txt": "same text", "sub/b.txt": "same text", "c.txt": "same size", "d": "x", "e": "x", "empty": ""})
	r := recorder{}
	out := once(t, file, host.Grant{Dirs: []host.Dir{{Host: dir, Guest: "/data"}}}, &r, map[string]any{"root": "/data", "min_size": 2})
	want := `{"files":3,"copies":1,"wasted_bytes":9,"unreadable":0,"groups":[{"size":9,"sha256":"` + sum("same text") + `","paths":["a.txt","sub/b.txt"]}]}`
	if diff := cmp.Diff(string(out.Output), want); diff != "" || out.Code != "" {
		t.Errorf("code %q: %s, output (-got +want):\n%s", out.Code, out.Message, diff)
	}
	if diff := cmp.Diff(r.log, []string{"1 of 3 files are copies, and take 9 bytes"}); diff != "" {
		t.Errorf("log (-got +want):\n%s", diff)
	}
	if out := once(t, file, host.Grant{}, &r, map[string]any{"root": "/data"}); out.Code != "DEDUPE_UNREADABLE" || out.Permanent {
		t.Errorf("without a grant: code %q: %s", out.Code, out.Message)
	}
	if out := once(t, file, host.Grant{}, &r, map[string]any{"rot": "/data"}); out.Code != "BAD_DATA" || !out.Permanent {
		t.Errorf("with wrong data: code %q: %s", out.Code, out.Message)
	}
}

// The tests in Rust itself, for this machine: those of the SDK and of the example.
func TestRustTestsItself(t *testing.T) {
	tools := find(t, "rust")
	if tools.missing != "" {
		t.Skipf("not built: there is no %s", tools.missing)
	}
	rustc, _, _ := strings.Cut(strings.TrimPrefix(tools.variables, "RUSTC="), " ")
	dir := t.TempDir()
	lib := filepath.Join("rust", "src", "lib.rs")
	for _, args := range [][]string{
		{rustc, "--edition", "2021", "-D", "warnings", "--test", "-o", filepath.Join(dir, "sdk"), lib},
		{filepath.Join(dir, "sdk")},
		{rustc, "--edition", "2021", "--crate-type", "rlib", "--crate-name", "jobhost", "--out-dir", dir, lib},
		{rustc, "--edition", "2021", "-D", "warnings", "--test", "--extern", "jobhost=" + filepath.Join(dir, "libjobhost.rlib"), "-o", filepath.Join(dir, "dedupe"), filepath.Join("..", "plugins", "examples", "dedupe", "main.rs")},
		{filepath.Join(dir, "dedupe")},
	} {
		text, err := exec.CommandContext(t.Context(), args[0], args[1:]...).CombinedOutput()
		if err != nil {
			t.Fatalf("%q: %v\n%s", args, err, text)
		}
		if !strings.HasPrefix(args[0], rustc) && !strings.Contains(string(text), "test result: ok.") {
			t.Errorf("%q tested nothing:\n%s", args, text)
		}
	}
}

func TestJSONFilterKeepsWhatFits(t *testing.T) {
	file := example(t, "json-filter", "assemblyscript")
	type object = map[string]any
	records := json.RawMessage(`[{"id":1,"state":"open","size":5},{"id":2,"state":"closed","size":5},{"id":12345678901234567890,"state":"open","size":1.50},
		{"id":4,"state":"open"},{"id":5,"state":"open","size":9,"tags":["é\n\"",null,{"deep":[true]}]}]`)
	open := object{"field": "state", "is": "open"}
	for _, c := range []struct {
		name string
		data object
		want string
	}{
		{"all", object{"records": json.RawMessage(`[1,{"a":[ ]}]`)}, `[1,{"a":[]}]`},
		{"is", object{"records": records, "where": []object{open}, "keep": []string{"id"}}, `[{"id":1},{"id":12345678901234567890},{"id":4},{"id":5}]`},
		{"not", object{"records": records, "where": []object{{"field": "state", "not": "open"}}, "keep": []string{"state", "id", "x"}}, `[{"state":"closed","id":2}]`},
		{"between", object{"records": records, "where": []object{open, {"field": "size", "at_least": 1.5, "at_most": 5}}, "keep": []string{"size"}}, `[{"size":5},{"size":1.50}]`},
		{"whole records", object{"records": records, "where": []object{{"field": "id", "is": 5.0}}}, `[{"id":5,"state":"open","size":9,"tags":["é\u000a\"",null,{"deep":[true]}]}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r recorder
			out := once(t, file, host.Grant{}, &r, c.data)
			if diff := cmp.Diff(string(out.Output), c.want); diff != "" || out.Code != "" {
				t.Errorf("code %q: %s, output (-got +want):\n%s", out.Code, out.Message, diff)
			}
		})
	}
	for data, want := range map[string]string{
		`{}`:                                     "want either records or url",
		`{"records":5}`:                          "records is no array",
		`{"records":[],"were":[]}`:               "the field were is not known; want records or url, where and keep",
		`{"records":[],"where":[{}]}`:            "a condition has no field",
		`{"records":[],"where":[{"field":"a"}]}`: "the condition of a asks for nothing; want is, not, at_least or at_most",
		`{"records":[],"where":[{"field":"a","iss":1}]}`: "a condition has iss; want is, not, at_least or at_most",
	} {
		var r recorder
		if out := once(t, file, host.Grant{}, &r, json.RawMessage(data)); out.Message != want || out.Code != "BAD_DATA" || !out.Permanent {
			t.Errorf("data %s: %q (%s), permanent %v; want %q", data, out.Message, out.Code, out.Permanent, want)
		}
	}
	answer := `[{"id":7,"state":"open"}]`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/gone":
			w.WriteHeader(http.StatusGone)
		case "/text":
			_, _ = fmt.Fprint(w, "hello")
		default:
			_, _ = fmt.Fprint(w, answer)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{"/issues": "", "/gone": "FILTER_STATUS", "/text": "FILTER_NO_ARRAY"} {
		var r recorder
		g := host.Grant{HTTP: []host.HTTP{{Host: server.URL, Private: true}}}
		out := once(t, file, g, &r, object{"url": server.URL + path, "where": []object{open}})
		if string(out.Code) != want || want == "" && string(out.Output) != answer {
			t.Errorf("%s: output %s, code %q: %s", path, out.Output, out.Code, out.Message)
		}
	}
	var r recorder
	if out := once(t, file, host.Grant{}, &r, object{"url": server.URL}); out.Code != "FILTER_NO_ANSWER" || !out.Permanent {
		t.Errorf("without a grant: code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
	}
}

// Whatever Go writes as JSON, AssemblyScript reads and writes again.
func TestJSONFilterKeepsEveryValue(t *testing.T) {
	file := example(t, "json-filter", "assemblyscript")
	rnd := rand.New(rand.NewPCG(1, 2))
	values := make([]any, 500)
	for i := range values {
		values[i] = randomValue(rnd, 4)
	}
	var r recorder
	out := once(t, file, host.Grant{MaxOutput: abi.MaxOutputEver}, &r, map[string]any{"records": values})
	var got []any
	if err := json.Unmarshal(out.Output, &got); err != nil || out.Code != "" {
		t.Fatalf("%v, code %q: %s", err, out.Code, out.Message)
	}
	if diff := cmp.Diff(got, values); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

// randomValue is a JSON value, as Go decodes it, that is nested at most so deep.
func randomValue(r *rand.Rand, depth int) any {
	text := func() string {
		runes := make([]rune, r.IntN(6))
		for i := range runes {
			runes[i] = []rune("\x00\x1f\n\"\\/aé\u2028\uffff😀")[r.IntN(11)]
		}
		return string(runes)
	}
	n := 8
	if depth == 0 {
		n = 6
	}
	switch r.IntN(n) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return float64(r.IntN(2000) - 1000)
	case 3:
		return r.NormFloat64() * 1e30
	case 4, 5:
		return text()
	case 6:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	}
	object := map[string]any{}
	for range r.IntN(4) {
		object[text()] = randomValue(r, depth-1)
	}
	return object
}

func TestFetchArchiveGoesOnWhereItStoppedAsAGuestToo(t *testing.T) {
	file := filepath.Join(t.TempDir(), "fetch-archive.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", file, "../plugins/examples/fetch-archive")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	content := strings.Repeat("0123456789abcdef", 200_000)
	torn, ranges := true, ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ranges += r.Header.Get("Range") + ";"
		w.Header().Set("ETag", `"v1"`)
		if torn {
			w.Header().Set("Content-Length", strconv.Itoa(len(content)))
			_, _ = fmt.Fprint(w, content[:2_000_000])
			_ = http.NewResponseController(w).Flush() // what was written arrives before the connection breaks
			panic(http.ErrAbortHandler)
		}
		http.ServeContent(w, r, "archive", time.Time{}, strings.NewReader(content))
	}))
	defer server.Close()
	dir := t.TempDir()
	g := host.Grant{KV: true, HTTP: []host.HTTP{{Host: server.URL, Private: true}}, Dirs: []host.Dir{{Host: dir, Guest: "/out", Mode: host.ReadWrite}}}
	r := recorder{values: map[string][]byte{}}
	data := map[string]any{"url": server.URL + "/archive", "sha256": sum(content), "to": "/out/archive"}
	if out := once(t, file, g, &r, data); out.Code != jobhost.Unexpected || out.Permanent || len(r.values) != 1 {
		t.Fatalf("a torn download: code %q, permanent %v: %s, values %v", out.Code, out.Permanent, out.Message, r.values)
	}
	torn = false
	out := once(t, file, g, &r, data)
	if want := `{"file":"/out/archive","bytes":3200000,"resumed":2000000,"fetched":true}`; string(out.Output) != want || out.Code != "" || ranges != ";bytes=2000000-;" {
		t.Errorf("output %s, code %q: %s, ranges %q", out.Output, out.Code, out.Message, ranges)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "archive")); err != nil || string(got) != content || len(r.values) != 0 {
		t.Errorf("the file has %d bytes, %v; values %v", len(got), err, r.values)
	}
}

func TestFeedWatchTellsWhatIsNew(t *testing.T) {
	file := example(t, "feed-watch", "javascript")
	m, err := config.ReadManifest(host.ReadManifest(file), nil)
	if err != nil || m.Key != "feed-watch" || len(m.Schema) == 0 || len(m.Wants) != 2 {
		t.Errorf("the manifest: %+v, %v", m, err)
	}
	feed, status, told := `{"title":"News","items":[{"id":"1","title":"one"},{"id":2}]}`, http.StatusOK, []string{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		etag := `"` + sum(feed) + `"`
		switch {
		case r.URL.Path == "/hook":
			body, _ := io.ReadAll(r.Body)
			told = append(told, string(body))
			w.WriteHeader(status)
		case r.Header.Get("If-None-Match") == etag:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("ETag", etag)
			_, _ = io.WriteString(w, feed)
		}
	}))
	defer server.Close()
	g := host.Grant{KV: true, HTTP: []host.HTTP{{Host: server.URL, Private: true}}}
	r := recorder{values: map[string][]byte{}}
	look := func(path string) jobhost.Outcome {
		t.Helper()
		return once(t, file, g, &r, map[string]string{"url": server.URL + path, "notify": server.URL + "/hook"})
	}
	for _, want := range []string{`{"title":"News","fresh":[],"known":2}`, `{"fresh":[],"known":2}`} {
		if out := look("/feed"); string(out.Output) != want || out.Code != "" {
			t.Errorf("output %s, code %q: %s; want %s", out.Output, out.Code, out.Message, want)
		}
	}
	feed, status = strings.Replace(feed, `[`, `[{"url":"https://a.example/3","title":"three","date_published":"2026-03-01T06:00:00Z"},`, 1), http.StatusBadGateway
	if out := look("/feed"); out.Code != "FEED_STATUS" || out.Permanent {
		t.Errorf("a hook that fails: code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
	}
	status = http.StatusNoContent
	three := `[{"id":"https://a.example/3","url":"https://a.example/3","title":"three","published":"2026-03-01T06:00:00Z"}]`
	if out := look("/feed"); string(out.Output) != `{"title":"News","fresh":`+three+`,"known":3}` {
		t.Errorf("output %s, code %q: %s", out.Output, out.Code, out.Message)
	}
	telling := `{"feed":"News","items":` + three + `}`
	if diff := cmp.Diff(told, []string{telling, telling}); diff != "" {
		t.Errorf("told (-got +want):\n%s", diff)
	}
	if diff := cmp.Diff(r.log, []string{"first look of 2 entries", "the feed is as it was", "1 new of 3 entries"}); diff != "" {
		t.Errorf("log (-got +want):\n%s", diff)
	}
	feed = "<html>"
	if out := look("/feed"); out.Code != "FEED_UNREADABLE" || out.Permanent {
		t.Errorf("no feed: code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
	}
	entries := make([]string, 800)
	for i := range entries {
		entries[i] = fmt.Sprintf(`{"id":"%d%s"}`, i, strings.Repeat("\U0001F600", 200))
	}
	feed = `{"title":"Much","items":[` + strings.Join(entries, ",") + `]}`
	if out := look("/much"); string(out.Output) != `{"title":"Much","fresh":[],"known":37}` {
		t.Errorf("ids that are long: output %s, code %q: %s", out.Output, out.Code, out.Message)
	}
	g = host.Grant{KV: true}
	if out := look("/feed"); out.Code != "FEED_NO_ANSWER" || !out.Permanent {
		t.Errorf("without a grant: code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
	}
}
