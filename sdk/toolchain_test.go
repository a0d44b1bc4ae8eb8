package sdk_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/sdk"
)

// toolchain is how guests of a language are built here: variables for make, or why they are not.
type toolchain struct{ variables, missing string }

// toolchains are those that were looked for. No test here is parallel.
var toolchains = map[string]toolchain{}

// find returns the toolchain of a language.
func find(t *testing.T, language string) toolchain {
	t.Helper()
	if _, ok := toolchains[language]; !ok {
		toolchains[language] = look(t, language)
	}
	return toolchains[language]
}

// look looks for the toolchain of a language by building the smallest guest. Each has a variable of the environment that
// names another program.
func look(t *testing.T, language string) toolchain {
	t.Helper()
	dir := t.TempDir()
	try := func(program, source, text string, args ...string) bool {
		if err := os.WriteFile(filepath.Join(dir, source), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), program, append(args, source)...)
		cmd.Dir = dir
		return cmd.Run() == nil
	}
	switch language {
	case "c":
		clang := cmp.Or(os.Getenv("WASI_CC"), "clang")
		if try(clang, "a.c", "#include <stdio.h>\nint main(void) { return puts(\"\"); }\n", "--target=wasm32-wasi", "-o", "c.wasm") {
			return toolchain{variables: "CC=" + clang + " WASI_CC=" + clang}
		}
		return toolchain{missing: "clang with a C library for WebAssembly; apt-get install clang lld wasi-libc libclang-rt-14-dev-wasm32, or name one in WASI_CC"}
	case "rust":
		for _, rustc := range []string{os.Getenv("WASI_RUSTC"), "rustc", "/usr/bin/rustc"} {
			for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
				if rustc != "" && try(rustc, "a.rs", "fn main() {}", "--target", target, "-o", "rust.wasm") {
					return toolchain{variables: "RUSTC=" + rustc + " WASI_RUSTC=" + rustc + " TARGET=" + target + " WASI=" + target}
				}
			}
		}
		return toolchain{missing: "rustc with a WebAssembly target; apt-get install rustc libstd-rust-dev-wasm32, or name one in WASI_RUSTC"}
	case "assemblyscript":
		asc := cmp.Or(os.Getenv("ASC"), "asc")
		if try(asc, "a.ts", "export function f(): void {}", "-o", "as.wasm") {
			return toolchain{variables: "ASC=" + asc}
		}
		return toolchain{missing: "the AssemblyScript compiler; npm install assemblyscript, and name node_modules/.bin/asc in ASC"}
	case "javascript":
		clang := find(t, "c")
		if clang.missing != "" {
			return clang
		}
		quickjs, err := filepath.Abs(cmp.Or(os.Getenv("QUICKJS"), filepath.Join("..", "bin", "quickjs")))
		if err != nil {
			t.Fatal(err)
		}
		tools := clang.variables + " QUICKJS=" + quickjs
		args := append([]string{"-C", filepath.Join("..", "plugins", "examples"), "--question", "quickjs"}, strings.Fields(tools)...)
		if exec.CommandContext(t.Context(), "make", args...).Run() == nil {
			return toolchain{variables: tools}
		}
		return toolchain{missing: "QuickJS in " + quickjs + "; make quickjs fetches and compiles it, or name another folder in QUICKJS"}
	}
	return toolchain{}
}

// guests is a host for the guests of a test, with what its jobs are granted.
func guests(t *testing.T, grants ...host.Grant) *host.Host {
	t.Helper()
	cfg := host.Defaults()
	cfg.Grants = grants
	h, err := host.New(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return h
}

// said is a run's log.
type said struct{ lines []string }

func (s *said) Log(_ int, msg string) { s.lines = append(s.lines, msg) }

func (s *said) Progress(int64, int64, string) {}

// load loads a module and returns its key.
func load(t *testing.T, h *host.Host, file string) jobhost.Name {
	t.Helper()
	key := strings.TrimSuffix(filepath.Base(file), ".wasm")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Load(t.Context(), key, file); err != nil {
		t.Fatal(err)
	}
	return key
}

// run runs a plugin once.
func run(t *testing.T, h *host.Host, key jobhost.Name, data string) (jobhost.Outcome, []string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var log said
	out := h.Run(ctx, jobhost.Call{
		Run: jobhost.Run{
			ID: "019a0b1c2d3e4f5061728394a5b6c7d8", Job: "a.job", Kind: jobhost.KindManual, Attempt: 2, Data: []byte(data),
			ScheduledAt: time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC),
		},
		Plugin: key, Stop: make(chan struct{}), Sink: &log,
	})
	return out, log.lines
}

// TestProjectsOfAllLanguagesBuildAndRun needs make, and for each language its toolchain; it says which one is not there.
func TestProjectsOfAllLanguagesBuildAndRun(t *testing.T) {
	h := guests(t)
	for _, language := range sdk.Languages() {
		t.Run(language, func(t *testing.T) {
			tools := find(t, language)
			if tools.missing != "" {
				t.Skipf("not built: there is no %s", tools.missing)
			}
			dir := t.TempDir()
			project, err := sdk.Project(language, "greeter-"+language)
			if err != nil {
				t.Fatal(err)
			}
			for file, text := range project {
				path := filepath.Join(dir, filepath.FromSlash(file))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, text, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			targets := []string{"plugins/greeter-" + language + ".wasm"}
			if language == "go" || language == "rust" {
				targets = append(targets, "test")
			}
			cmd := exec.CommandContext(t.Context(), "make", append(strings.Fields(tools.variables), targets...)...)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			file := filepath.Join(dir, targets[0])
			key := load(t, h, file)
			out, log := run(t, h, key, `{"name": "Ada \"\u00e9\" \ud83d\ude00"}`)
			if got := strings.TrimSpace(string(out.Output)); out.Code != "" || got != `{"greeting":"Hello, Ada \"é\" 😀!"}` {
				t.Errorf("output %s, code %q: %s", got, out.Code, out.Message)
			}
			if all := strings.Join(log, "\n"); !strings.Contains(all, "Ada") {
				t.Errorf("log %q; want the greeting", all)
			}
			if out, _ := run(t, h, key, `{"name": ""}`); out.Code != "NO_NAME" || !out.Permanent {
				t.Errorf("without a name: code %q, permanent %v: %s", out.Code, out.Permanent, out.Message)
			}
			in, err := h.Inspect(file)
			if err != nil || len(in.Problems) > 0 {
				t.Fatalf("inspect: %v, %q", err, in.Problems)
			}
			if language == "javascript" {
				return // what its script uses is known only when it runs
			}
			for _, s := range in.Imports {
				if s.Module == abi.Module && (strings.HasPrefix(s.Name, "kv_") || strings.HasPrefix(s.Name, "http_")) {
					t.Errorf("it imports %s, which it does not use", s.Name)
				}
			}
		})
	}
}
