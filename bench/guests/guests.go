// Package guests builds the WebAssembly programs that comparisons run: one logic in several languages, and two programs
// that are as bad as it gets for metering.
//
// A guest reads {"do":…,"n":…} on its standard input and prints {"result":…}; "do" is one of hello, sort (n numbers),
// sha256 (of n times a mebibyte) and json (n records). In Go and C it is also log
// (n lines), now (in µs) and spin.
package guests

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

//go:embed testdata
var sources embed.FS

// Guest is a program that can be built.
type Guest struct {
	Name  string
	files []string
	build func(ctx context.Context, dir, out string) error // in a folder that has the files
}

// The guests that have the logic, by language.
var (
	Go             = Guest{"go", []string{"main.go"}, buildGo}
	C              = Guest{"c", []string{"main.c"}, buildC}
	Rust           = Guest{"rust", []string{"main.rs"}, buildRust}
	AssemblyScript = Guest{"assemblyscript", []string{"main.ts", "package.json"}, buildAssemblyScript}
)

// Languages are the guests that have the logic.
var Languages = []Guest{Go, C, Rust, AssemblyScript}

// Spin and Fib compute for a moment, whatever they are given: in a loop, and in calls.
var (
	Spin = Guest{"spin", []string{"spin.wat"}, buildWAT("spin.wat")}
	Fib  = Guest{"fib", []string{"fib.wat"}, buildWAT("fib.wat")}
)

// Build returns the path of the module. What was built once for the same sources is kept in the user's cache. The error
// says what is missing where a toolchain is.
func (g Guest) Build(ctx context.Context) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	hash := sha256.New()
	texts := map[string][]byte{}
	for _, name := range g.files {
		text, err := sources.ReadFile("testdata/" + name)
		if err != nil {
			return "", err
		}
		texts[name] = text
		_, _ = fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text) // a hash takes everything
	}
	dir := filepath.Join(cache, "jobhost-bench")
	out := filepath.Join(dir, g.Name+"-"+hex.EncodeToString(hash.Sum(nil)[:8])+".wasm")
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(dir, g.Name+"-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work) //nolint:errcheck // a cache may keep more than it needs
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(work, name), text, 0o600); err != nil {
			return "", err
		}
	}
	made := filepath.Join(work, "out.wasm")
	if err := g.build(ctx, work, made); err != nil {
		return "", fmt.Errorf("building the %s guest: %w", g.Name, err)
	}
	if err := os.Chmod(made, 0o600); err != nil {
		return "", err
	}
	return out, os.Rename(made, out)
}

func buildGo(ctx context.Context, dir, out string) error {
	env := []string{"GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS="}
	return tool(ctx, dir, env, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "main.go")
}

func buildC(ctx context.Context, dir, out string) error {
	return tool(ctx, dir, nil, "clang", "--target=wasm32-wasi", "-O2", "-Wl,-S", "-o", out, "main.c")
}

// buildRust tries the compilers that there may be, and both names of the target.
func buildRust(ctx context.Context, dir, out string) error {
	var errs []error
	for _, compiler := range []string{"rustc", "/usr/bin/rustc"} {
		for _, target := range []string{"wasm32-wasip1", "wasm32-wasi"} {
			err := tool(ctx, dir, nil, compiler, "--edition", "2021", "-O", "-C", "lto", "-C", "strip=symbols", "--target", target, "-o", out, "main.rs")
			if err == nil {
				return nil
			}
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func buildAssemblyScript(ctx context.Context, dir, out string) error {
	if err := tool(ctx, dir, nil, "npm", "install", "--no-audit", "--no-fund", "--no-package-lock"); err != nil {
		return err
	}
	return tool(ctx, dir, nil, filepath.Join(dir, "node_modules/.bin/asc"), "main.ts", "-O", "-o", out,
		"--config", "node_modules/@assemblyscript/wasi-shim/asconfig.json")
}

func buildWAT(file string) func(ctx context.Context, dir, out string) error {
	return func(ctx context.Context, dir, out string) error {
		return tool(ctx, dir, nil, "wat2wasm", file, "-o", out)
	}
}

func tool(ctx context.Context, dir string, env []string, name string, args ...string) error {
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // a compiler by its name
	c.Dir, c.Env = dir, append(os.Environ(), env...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", name, err, out)
	}
	return nil
}
