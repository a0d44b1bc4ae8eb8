package sdk_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// script builds a script in JavaScript as the Makefile of a project does.
func script(t *testing.T, tools toolchain, source, out string) {
	t.Helper()
	sdk, err := filepath.Abs("javascript")
	if err != nil {
		t.Fatal(err)
	}
	makefile := filepath.Join(t.TempDir(), "Makefile")
	text := "all:\n\ninclude " + filepath.Join(sdk, "javascript.mk") + "\n\nall: $(JAVASCRIPT)\n\t$(call javascript," + source + "," + out + ")\n"
	if err := os.WriteFile(makefile, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "make", append([]string{"-f", makefile}, strings.Fields(tools.variables)...)...)
	said, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(said), "warning") {
		t.Fatalf("%v\n%s", err, said)
	}
}

// javascript loads a script into a host.
func javascript(t *testing.T, h *host.Host, key, text string) {
	t.Helper()
	tools := find(t, "javascript")
	if tools.missing != "" {
		t.Skipf("not built: there is no %s", tools.missing)
	}
	dir := t.TempDir()
	source, out := filepath.Join(dir, "main.js"), filepath.Join(dir, key+".wasm")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	script(t, tools, source, out)
	load(t, h, out)
}

// granted is a host with a grant for the job of [run].
func granted(t *testing.T, g host.Grant) *host.Host {
	t.Helper()
	g.Job = "a.job"
	return guests(t, g)
}

// The ways in which a script can go wrong. Each is the body of a function; lines are counted from the one with its name.
const wrong = `import { ENDING, Failure, HostError, cancelled, kv, sleep } from "jobhost";
const ways = {
  plainly() {
    const order = {};
    return order.lines.length;
  },
  withACode() { throw new Failure("BAD_ROW", "row 5 has no sum", { permanent: true }) },
  forRetry() { throw new Failure("BUSY", "it is busy") },
  asText() { throw "only text" },
  asNull() { throw null },
  marked() { throw Object.assign(new RangeError("too far"), { permanent: true }) },
  async later() {
    await null;
    throw new TypeError("after a while");
  },
  unheardToo() {
    Promise.reject(new Error("nobody heard it"));
    throw "this counts";
  },
  unheard() { [1].forEach(async () => { throw new Error("nobody heard it") }) },
  async heardLate() {
    const p = Promise.reject(new Error("heard"));
    await null;
    return p.catch((e) => e.message);
  },
  never() { return new Promise(() => {}) },
  recursion() {
    const f = (n) => f(n + 1) + 1;
    return f(0);
  },
  caughtRecursion() {
    let depth = 0;
    const f = () => { depth++; f() };
    try { f() } catch (e) { return [depth > 1000, String(e)] }
  },
  deepText() { try { JSON.parse("[".repeat(1e6)) } catch (e) { return String(e) } },
  deepSource() { try { eval("(".repeat(1e6)) } catch (e) { return String(e) } },
  deepCallbacks() { const f = () => [2, 1].sort(f); try { f() } catch (e) { return String(e) } },
  memory() { for (const all = []; ; ) all.push(new Array(1000).fill(all.length)) },
  longText() { for (let s = "x"; ; ) s += s },
  endless() { for (;;) ; },
  denied() { try { kv.set("a", "b") } catch (e) { return [e instanceof HostError, e.errno, String(e)] } },
  noText() { kv.set("a", undefined) },
  noJSON() { return 1n },
  nothing() {},
  stopped() { try { sleep(60000) } catch (e) { return [e.errno === ENDING, cancelled()] } },
};
export default (run) => ways[run.data.way]();
`

func TestWhatAScriptDoesWrongIsToldAsJavaScriptDoes(t *testing.T) {
	h := granted(t, host.Grant{Plugin: "wrong", MaxMemory: 24 << 20})
	javascript(t, h, "wrong", wrong)
	for way, want := range map[string]struct {
		code, message string // the beginning of the message
		permanent     bool
		output        string
	}{
		"plainly":         {string(jobhost.Unexpected), "TypeError: cannot read property 'length' of undefined\n    at plainly (main.js:5)\n    at default (main.js:48)\n", false, ""},
		"withACode":       {"BAD_ROW", "row 5 has no sum", true, ""},
		"forRetry":        {"BUSY", "it is busy", false, ""},
		"asText":          {string(jobhost.Unexpected), "only text", false, ""},
		"asNull":          {string(jobhost.Unexpected), "null was thrown", false, ""},
		"marked":          {string(jobhost.Unexpected), "RangeError: too far\n    at marked (main.js:11)\n", true, ""},
		"later":           {string(jobhost.Unexpected), "TypeError: after a while\n    at later (main.js:14)", false, ""},
		"unheard":         {string(jobhost.Unexpected), "Error: nobody heard it\n    at <anonymous> (main.js:20)\n", false, ""},
		"unheardToo":      {string(jobhost.Unexpected), "this counts", false, ""},
		"heardLate":       {"", "", false, `"heard"`},
		"never":           {string(jobhost.Unexpected), "the job waits for a promise that nothing settles", false, ""},
		"recursion":       {string(jobhost.Unexpected), "InternalError: stack overflow\n    at f (main.js:28)\n    at f (main.js:28)\n", false, ""},
		"caughtRecursion": {"", "", false, `[true,"InternalError: stack overflow"]`},
		"deepText":        {"", "", false, `"SyntaxError: stack overflow"`},
		"deepSource":      {string(jobhost.Unexpected), "stack overflow: the calls are nested too deeply", false, ""}, // the host's
		"deepCallbacks":   {"", "", false, `"InternalError: stack overflow"`},
		"memory":          {string(jobhost.Unexpected), "InternalError: out of memory\n    at memory (main.js:39)\n", false, ""},
		"longText":        {string(jobhost.Unexpected), "InternalError: out of memory\n    at longText (main.js:40)\n", false, ""},
		"denied":          {"", "", false, `[true,-2,"HostError: kv.set a: denied: the operator has not granted it"]`},
		"noText":          {string(jobhost.Unexpected), "TypeError: want text or bytes, not undefined\n", false, ""},
		"noJSON":          {string(jobhost.Unexpected), "TypeError: ", false, ""},
		"nothing":         {"", "", false, ""},
	} {
		t.Run(way, func(t *testing.T) {
			out, _ := run(t, h, "wrong", `{"way": "`+way+`"}`)
			if string(out.Code) != want.code || !strings.HasPrefix(out.Message, want.message) || out.Permanent != want.permanent {
				t.Errorf("code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
			}
			if want.code == "" && string(out.Output) != want.output {
				t.Errorf("output %s; want %s", out.Output, want.output)
			}
			if strings.Contains(want.message, "out of memory") && !strings.HasSuffix(out.Message, "it reached max_memory 24 MiB") {
				t.Errorf("message %q; want it to name the limit", out.Message)
			}
		})
	}
	call := func(way string, stop chan struct{}) jobhost.Outcome {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		return h.Run(ctx, jobhost.Call{
			Run:    jobhost.Run{ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "a.job", Kind: jobhost.KindManual, Attempt: 1, Data: []byte(`{"way": "` + way + `"}`)},
			Plugin: "wrong", Stop: stop, Sink: &said{},
		})
	}
	if out := call("endless", make(chan struct{})); out.Code != jobhost.TimedOut {
		t.Errorf("an endless loop: code %q: %s", out.Code, out.Message)
	}
	stop := make(chan struct{})
	close(stop)
	if out := call("stopped", stop); out.Code != "" || string(out.Output) != "[true,true]" {
		t.Errorf("asked to stop: output %s, code %q: %s", out.Output, out.Code, out.Message)
	}
}

func TestAScriptThatCannotBeginSaysWhy(t *testing.T) {
	h := guests(t)
	for key, c := range map[string]struct{ script, message string }{
		"syntax":   {"export default function () {\n  if x\n}\n", "SyntaxError: expecting '('\n    at main.js:2"},
		"top":      {"\nnull.x;\nexport default () => 1;\n", "TypeError: cannot read property 'x' of null\n    at <anonymous> (main.js:2)"},
		"no-job":   {"export function run() {}\n", "the script has no function as its default export"},
		"imports":  {"import x from './lib.js';\n", `ReferenceError: there is no module "lib.js": a job is one script, so bundle what it imports`},
		"bad-name": {"import { ketch } from 'jobhost';\n", "SyntaxError: Could not find export 'ketch' in module 'jobhost'"},
	} {
		t.Run(key, func(t *testing.T) {
			javascript(t, h, key, c.script)
			if out, _ := run(t, h, key, `{}`); out.Code == "" || !strings.HasPrefix(out.Message, c.message) {
				t.Errorf("code %q: %s", out.Code, out.Message)
			}
		})
	}
}

func TestAScriptSeesItsRunItsFilesAndTheWeb(t *testing.T) {
	dir := folder(t, map[string]string{"a.txt": "grüße", "b.bin": "\x00\xff"})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := make([]byte, 3)
		n, _ := r.Body.Read(body)
		w.Header()["X-Two"] = []string{"1", "2"}
		w.WriteHeader(http.StatusTeapot)
		_, _ = w.Write([]byte(r.Method + " " + string(body[:n])))
	}))
	defer server.Close()
	h := granted(t, host.Grant{
		Plugin: "sees", Args: []string{"--fast"}, Env: map[string]string{"COLOR": "a=b"},
		Dirs: []host.Dir{{Host: dir, Guest: "/data", Mode: host.ReadWrite}}, HTTP: []host.HTTP{{Host: server.URL, Private: true}},
	})
	javascript(t, h, "sees", `import { TOO_LARGE, fetch, files } from "jobhost";
export default function (run) {
  console.debug("d");
  console.warn({ a: [1] }, null, undefined, 1n);
  files.write("/data/new", "1");
  files.append("/data/new", new Uint8Array([50, 51]).subarray(1));
  const response = fetch(run.data.url, { method: "POST", body: new Uint8Array([120, 121]) });
  const failures = [];
  for (const wrong of [
    () => files.read("/etc/passwd"),
    () => files.list("/data/a.txt"),
    () => fetch(run.data.url, { maxBytes: 2 }),
  ]) try { wrong() } catch (e) { failures.push(e.errno === TOO_LARGE ? "too large" : e.message) }
  return {
    run: [run.id, run.job, run.trigger, run.kind, run.attempt, run.scheduledAt.getTime(), run.deadline, run.args, run.env.COLOR, run.env.JOBHOST_KIND],
    files: [files.list("/data"), files.read("/data/a.txt"), [...files.bytes("/data/b.bin")], files.read("/data/new"), files.read("/data/gone") === undefined],
    web: [response.status, response.ok, response.headers.get("x-two"), response.text(), response.bytes().length],
    failures,
    rounding: [(2.5).toFixed(0), (-0.125).toFixed(2), (1.005).toFixed(2), (8.345).toFixed(2), (25).toPrecision(1), (12345).toExponential(3), (366013407707214.375).toFixed(2), 671996593475341.75, 0.1 + 0.2, 1e21, 5e-324],
  };
}
`)
	out, log := run(t, h, "sees", `{"url": "`+server.URL+`"}`)
	want := `{"run":["019a0b1c2d3e4f5061728394a5b6c7d8","a.job","","Manual",2,1772344800000,null,["--fast"],"a=b","Manual"],` +
		`"files":[["a.txt","b.bin","new"],"grüße",[0,255],"13",true],"web":[418,false,"1, 2","POST xy",7],` +
		`"failures":["/etc/passwd: in no directory that the operator has granted so","/data/a.txt: Not a directory","too large"],` +
		`"rounding":["3","-0.13","1.00","8.35","3e+1","1.235e+4","366013407707214.38",671996593475341.8,0.30000000000000004,1e+21,5e-324]}`
	if diff := cmp.Diff(string(out.Output), want); diff != "" || out.Code != "" {
		t.Errorf("code %q: %s, output (-got +want):\n%s", out.Code, out.Message, diff)
	}
	if diff := cmp.Diff(log, []string{"d", `{"a":[1]} null undefined 1`}); diff != "" {
		t.Errorf("log (-got +want):\n%s", diff)
	}
}
