package main

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestNewProjectsBuildAndRun follows what `jobhost new` prints. A script whose toolchain is not there says so and is left out.
func TestNewProjectsBuildAndRun(t *testing.T) {
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	compilers := map[string]string{ // for make
		"CC":    compiler(t, "main.c", "#include <stdio.h>\nint main(void) { return puts(\"\"); }\n", "--target=wasm32-wasi", os.Getenv("WASI_CC"), "clang"),
		"RUSTC": compiler(t, "main.rs", "fn main() {}\n", "--target=wasm32-wasip1", os.Getenv("WASI_RUSTC"), "rustc"),
		"ASC":   compiler(t, "main.ts", "export function f(): void {}\n", "-O", os.Getenv("ASC"), "asc"),
	}
	if compilers["RUSTC"] == "" { // what it is called in older ones
		compilers["RUSTC"] = compiler(t, "main.rs", "fn main() {}\n", "--target=wasm32-wasi", os.Getenv("WASI_RUSTC"), "/usr/bin/rustc")
	}
	compilers["QUICKJS"] = quickJS(t, compilers["CC"])
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "new"),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
			e.Setenv("GOPROXY", "off")
			for variable, compiler := range compilers {
				e.Setenv(variable, compiler)
			}
			return os.MkdirAll(filepath.Join(e.WorkDir, ".cache"), 0o700)
		},
		Condition: func(variable string) (bool, error) { return compilers[variable] != "", nil },
	})
}

// compiler returns the first one that can build a source for WebAssembly; empty: there is none.
func compiler(t *testing.T, source, text, flag string, candidates ...string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, source), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range candidates {
		if c == "" {
			continue
		}
		cmd := exec.CommandContext(t.Context(), c, flag, "-o", "out.wasm", source)
		cmd.Dir = dir
		if cmd.Run() == nil {
			return c
		}
	}
	return ""
}

// quickJS returns the folder of the engine of jobs in JavaScript, if it was compiled before: it comes from the network.
func quickJS(t *testing.T, clang string) string {
	t.Helper()
	dir, err := filepath.Abs(cmp.Or(os.Getenv("QUICKJS"), filepath.Join("..", "..", "bin", "quickjs")))
	if err != nil {
		t.Fatal(err)
	}
	examples := filepath.Join("..", "..", "plugins", "examples")
	if clang == "" || exec.CommandContext(t.Context(), "make", "-C", examples, "--question", "quickjs", "QUICKJS="+dir).Run() != nil {
		return ""
	}
	return dir
}
