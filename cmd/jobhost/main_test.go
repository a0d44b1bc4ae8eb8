package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) { testscript.Main(tidy{m}, programs) }

// programs are what tests can start by name.
var programs = map[string]func(){"jobhost": main}

// tidy removes what the tests share once they have run.
type tidy struct{ *testing.M }

func (t tidy) Run() int {
	code := t.M.Run()
	if sharedDir != "" {
		_ = os.RemoveAll(sharedDir) // the tests have said what they have to say
	}
	return code
}

// sharedDir is set by prepare.
var sharedDir string

// shared is made once for all tests: the guest in Go, and a cache in which it is compiled already.
type shared struct {
	guest string // the file
	cache string // the folder; nobody writes there any more
}

var prepare = sync.OnceValues(func() (s shared, err error) {
	dir, err := os.MkdirTemp("", "jobhost-test-")
	if err != nil {
		return s, err
	}
	sharedDir = dir
	s = shared{guest: filepath.Join(dir, "guest.wasm"), cache: filepath.Join(dir, "cache", "jobhost")}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", s.guest, "./testdata/guest")
	build.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
	build.Stderr = os.Stderr
	if err := build.Run(); err != nil {
		return s, err
	}
	if err := os.Chmod(s.guest, 0o600); err != nil {
		return s, err
	}
	try := exec.Command("jobhost", "exec", s.guest, "--data", `{}`)
	try.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Dir(s.cache))
	try.Stderr = os.Stderr
	return s, try.Run()
})

func sharedFiles(tb testing.TB) shared {
	tb.Helper()
	s, err := prepare()
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// warm makes a cache folder that has the compiled guest.
func (s shared) warm(to string) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(s.cache)); err != nil {
		return err
	}
	return filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return os.Chmod(path, 0o700)
	})
}

// tiny are guests of a few instructions, which compile in no time.
var tiny = map[string][]byte{
	"ok.wasm":   command(),                             // returns
	"trap.wasm": command(0x00),                         // unreachable
	"spin.wasm": command(0x03, 0x40, 0x0c, 0x00, 0x0b), // loop; br 0; end
	// loop; memory.grow by 16 pages; unreachable if that is refused; br 0; end
	"hog.wasm":     command(0x03, 0x40, 0x41, 0x10, 0x40, 0x00, 0x41, 0x7f, 0x46, 0x04, 0x40, 0x00, 0x0b, 0x0c, 0x00, 0x0b),
	"seven.wasm":   reactor(0x41, 0x07),                                           // return 7
	"rubbish.wasm": reactor(0x41, 0x7f, 0x41, 0xe4, 0x00, 0x10, 0x00, 0x41, 0x00), // output(-1, 100); return 0
}

// command is a module whose _start has these instructions.
func command(code ...byte) []byte {
	return module([]byte("\x01\x60\x00\x00"), nil, 0, "_start", code)
}

// reactor is a module whose jobhost_run has these instructions; function 0 is the host's output.
func reactor(code ...byte) []byte {
	types := []byte("\x02\x60\x02\x7f\x7f\x00\x60\x00\x01\x7f")
	return module(types, []byte("\x01\x0ajobhost_v1\x06output\x00\x00"), 1, "jobhost_run", code)
}

// module has one page of memory and one function, which is exported. Type is its index among types, and, as there is
// an import for each type before it, that of the function too.
func module(types, imports []byte, typ byte, name string, code []byte) []byte {
	section := func(id byte, content ...byte) []byte { return append([]byte{id, byte(len(content))}, content...) }
	m := append([]byte("\x00asm\x01\x00\x00\x00"), section(1, types...)...)
	if imports != nil {
		m = append(m, section(2, imports...)...)
	}
	m = append(m, section(3, 1, typ)...)
	m = append(m, section(5, 1, 0, 1)...)
	m = append(m, section(7, slices.Concat([]byte("\x02\x06memory\x02\x00"), []byte{byte(len(name))}, []byte(name), []byte{0, typ})...)...)
	body := slices.Concat([]byte{0}, code, []byte{0x0b}) // no locals; end
	return append(m, section(10, append([]byte{1, byte(len(body))}, body...)...)...)
}

// plugins writes the tiny guests, and the one in Go, into a folder.
func (s shared) plugins(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for name, module := range tiny {
		if err := os.WriteFile(filepath.Join(dir, name), module, 0o600); err != nil {
			return err
		}
	}
	guest, err := os.ReadFile(s.guest)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "guest.wasm"), guest, 0o600)
}
