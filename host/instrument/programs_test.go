package instrument_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost/host/instrument"
)

// TestProgramsOfOtherLanguagesRun runs cat, as compiled from Rust, TinyGo, Zig and C, which wazero's module carries.
func TestProgramsOfOtherLanguagesRun(t *testing.T) {
	root := filepath.Join(wazeroDir(t), "imports", "wasi_snapshot_preview1", "example", "testdata")
	text := strings.Repeat("some text\n", 1000)
	for _, language := range []string{"cargo-wasi", "tinygo", "zig", "zig-cc"} {
		t.Run(language, func(t *testing.T) {
			bin, err := os.ReadFile(filepath.Join(root, language, "cat.wasm"))
			if err != nil {
				t.Fatal(err)
			}
			r, err := instrument.Instrument(bin, instrument.Config{Period: 1000, Late: 1})
			if err != nil {
				t.Fatal(err)
			}
			rt, _ := newRuntime(t, wazero.NewRuntimeConfigCompiler().WithCoreFeatures(features))
			ticks := 0
			if err := provideTick(t.Context(), rt, func(m api.Module) { ticks++; endOnOverflow(m) }); err != nil {
				t.Fatal(err)
			}
			wasi_snapshot_preview1.MustInstantiate(t.Context(), rt)
			var out bytes.Buffer
			_, err = rt.InstantiateWithConfig(t.Context(), r.Module, wazero.NewModuleConfig().
				WithArgs("cat", "a.txt").WithStdout(&out).WithFS(fstest.MapFS{"a.txt": {Data: []byte(text)}}))
			if exit, ok := errors.AsType[*sys.ExitError](err); err != nil && (!ok || exit.ExitCode() != 0) {
				t.Fatal(err)
			}
			if out.String() != text || ticks == 0 {
				t.Errorf("%d bytes and %d ticks, want the %d bytes of the file", out.Len(), ticks, len(text))
			}
		})
	}
}

// TestEveryProgramCompiles instruments all the modules that wazero's module carries, but for its tests of features, and
// wants each that the runtime compiles to compile still.
func TestEveryProgramCompiles(t *testing.T) {
	rt, _ := newRuntime(t, wazero.NewRuntimeConfigInterpreter().WithCoreFeatures(features))
	programs := 0
	err := filepath.WalkDir(wazeroDir(t), func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".wasm" || strings.Contains(path, "spectest") {
			return err
		}
		bin, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := rt.CompileModule(t.Context(), bin); err != nil {
			return nil //nolint:nilerr // a module of threads, exceptions and the like
		}
		programs++
		r, err := instrument.Instrument(bin, instrument.Config{Late: 1})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		if _, err := rt.CompileModule(t.Context(), r.Module); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || programs < 20 {
		t.Errorf("%d programs, %v; want at least 20", programs, err)
	}
}
