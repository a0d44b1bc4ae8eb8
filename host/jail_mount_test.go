//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What a granted path stands for is looked at again when a run begins.
func TestAGrantedFolderIsCheckedAgainWhenARunBegins(t *testing.T) {
	top := t.TempDir()
	at := func(name string) string { return filepath.Join(top, name) }
	must(t, os.Mkdir(at("one"), 0o700), os.Mkdir(at("two"), 0o700), os.MkdirAll(at("data/cache"), 0o700), os.WriteFile(at("file"), nil, 0o600),
		syscall.Mkfifo(at("fifo"), 0o600), os.Symlink("loop", at("loop")))
	h := &Host{cfg: Config{Private: []string{at("data")}}}
	for _, test := range []struct{ target, want string }{
		{"one", ""},
		{"two", ""}, // a link may be switched
		{"data", "overlaps " + at("data")},
		{"data/cache", "overlaps " + at("data")},
		{".", "overlaps " + at("data")},
		{"file", "not a directory"},
		{"fifo", "not a directory"}, // and it does not wait for a writer
		{"gone", "no such file or directory"},
		{"loop", "too many levels of symbolic links"},
	} {
		must(t, os.RemoveAll(at("granted")), os.Symlink(test.target, at("granted")))
		root, err := h.openDir(Dir{Host: at("granted"), Guest: "/data"})
		if err == nil {
			must(t, root.Close())
		}
		if got := errorText(err); (test.want == "") != (err == nil) || !strings.Contains(got, test.want) {
			t.Errorf("a link to %s: %q, want %q", test.target, got, test.want)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
