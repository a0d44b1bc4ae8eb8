package host_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

// slowToCompile is a module that the compiler works at for some time, about as the square of n.
func slowToCompile(n int) []byte {
	g := newGuest()
	block := append(wasmtest.Op(wasmtest.Block, wasmtest.Void), wasmtest.End)
	return g.reactor(bytes.Repeat(block, n), zero)
}

// child names what this test binary does when it is started as a process of its own, which can end as it pleases.
const child = "JOBHOST_TEST_CHILD"

func init() {
	if what := os.Getenv(child); what != "" {
		if err := children[what](os.Getenv(child + "_DIR")); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
}

// children are those processes, in a folder with a plugin plugins/slow.wasm.
var children = map[string]func(dir string) error{
	"stops": func(dir string) error {
		h, err := compiling(dir)
		if err != nil {
			return err
		}
		begun := time.Now()
		if err := h.Close(context.Background()); err != nil {
			return err
		}
		if took := time.Since(begun); took > 5*time.Second {
			return fmt.Errorf("the host took %v to close", took)
		}
		if left := marks(dir); len(left) > 0 {
			return fmt.Errorf("the host left %v", left)
		}
		return nil
	},
	"dies": func(dir string) error {
		_, err := compiling(dir)
		return err // without a Close
	},
	"is late": func(dir string) error {
		cfg := host.Defaults()
		cfg.Cache = filepath.Join(dir, "cache")
		h, err := host.New(context.Background(), cfg)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		begun := time.Now()
		_, err = h.Load(ctx, "slow", filepath.Join(dir, "plugins", "slow.wasm"))
		if took := time.Since(begun); took > 5*time.Second {
			return fmt.Errorf("it took %v to give up", took)
		}
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "slow.wasm: it was still being compiled, so no run has begun") {
			return fmt.Errorf("the error is %w", err)
		}
		if list, err := h.Plugins(context.Background()); len(list) > 0 || err != nil {
			return fmt.Errorf("listed: %v, %w", list, err)
		}
		return nil
	},
}

func marks(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "cache", "*", "*.compiling"))
	if err != nil {
		panic(err)
	}
	return files
}

// compiling starts a host that is compiling the plugin.
func compiling(dir string) (*host.Host, error) {
	cfg := host.Defaults()
	cfg.Dir, cfg.Cache = filepath.Join(dir, "plugins"), filepath.Join(dir, "cache")
	before := len(marks(dir))
	h, err := host.New(context.Background(), cfg)
	for err == nil && len(marks(dir)) <= before {
		ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
		if problem := h.Ready(ctx, "slow"); !errors.Is(problem, context.DeadlineExceeded) {
			err = fmt.Errorf("the plugin is ready or refused before it was seen being compiled: %w", problem)
		}
		cancel()
	}
	return h, err
}

// inChild runs one of the children.
func inChild(t *testing.T, what, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), child+"="+what, child+"_DIR="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// withSlow returns a folder for children.
func withSlow(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "plugins"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "plugins", "slow.wasm"), slowToCompile(n))
	return dir
}

func TestACompilationHoldsNobodyUp(t *testing.T) {
	dir := withSlow(t, 70_000) // ten seconds and more
	t.Run("a stop of the host", func(t *testing.T) { inChild(t, "stops", dir) })
	t.Run("a limit of whoever loads a file", func(t *testing.T) { inChild(t, "is late", dir) })
}

func TestAModuleThatTakesTheHostDownIsNotCompiledForEver(t *testing.T) {
	dir := withSlow(t, 20_000) // a second or more
	inChild(t, "dies", dir)
	if left := marks(dir); len(left) != 1 {
		t.Fatalf("after one death there are the marks %v", left)
	}
	inChild(t, "dies", dir)
	cfg := host.Defaults()
	cfg.Dir, cfg.Cache = filepath.Join(dir, "plugins"), filepath.Join(dir, "cache")
	write(t, filepath.Join(cfg.Dir, "good.wasm"), says("good"))
	h := openHost(t, cfg)
	wantOutput(t, h, "good", "good")
	err := h.Ready(t.Context(), "slow")
	if jobhost.CodeOf(err) != jobhost.NotFoundPlugin || !strings.Contains(err.Error(), "slow.wasm: the host died 2 times while it was being compiled") {
		t.Fatalf("after two deaths: %v", err)
	}
	for _, file := range marks(dir) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	again := openHost(t, cfg)
	if err := again.Ready(t.Context(), "slow"); err != nil {
		t.Errorf("without the marks: %v", err)
	}
	if left := marks(dir); len(left) > 0 {
		t.Errorf("what went well left %v", left)
	}
}

func TestCompileBombsAreRefusedByTheHost(t *testing.T) {
	h := newHost(t, host.Defaults(), map[string][]byte{"bomb": slowToCompile(1_000_000)})
	err := h.Ready(t.Context(), "bomb")
	if err == nil || !strings.Contains(err.Error(), "bomb.wasm: code section: function") || !strings.Contains(err.Error(), "compiling it could take") {
		t.Errorf("got %v", err)
	}
}
