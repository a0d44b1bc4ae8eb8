//go:build unix

package host

import (
	"bytes"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// ofUser is a file of some user.
type ofUser uint32

func (ofUser) Name() string       { return "" }
func (ofUser) Size() int64        { return 0 }
func (ofUser) Mode() fs.FileMode  { return 0 }
func (ofUser) ModTime() time.Time { return time.Time{} }
func (ofUser) IsDir() bool        { return false }
func (u ofUser) Sys() any         { return &syscall.Stat_t{Uid: uint32(u)} }

func TestASideFileIsThatOfTheModulesOwnerOfRootOrOurs(t *testing.T) {
	us := os.Geteuid()
	somebody, other := ofUser(us+1), ofUser(us+2)
	for _, test := range []struct {
		name         string
		side, module fs.FileInfo
		want         string
	}{
		{"the module's owner", somebody, somebody, ""},
		{"root", ofUser(0), somebody, ""},
		{"this user", ofUser(us), somebody, ""},
		{"somebody else", somebody, other, "chown --reference=/p/job.wasm /p/job.yaml"},
		{"somebody, beside root's module", somebody, ofUser(0), "/p/job.yaml is left out, since it belongs to user "},
		{"somebody, beside a module that cannot be read", somebody, nil, "is left out"},
	} {
		if got := errorText(checkOwner("/p/job.yaml", test.side, test.module)); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

// Whoever may put files into the plugin folder, but not replace those of others, changes nothing by a side file.
func TestAForeignSideFileIsLeftOut(t *testing.T) {
	if os.Geteuid() != 0 { // only root can make a file somebody else's
		return
	}
	const stranger = 54_321
	for name, put := range map[string]func(file string) error{
		"a file": func(file string) error { return os.WriteFile(file, []byte("key: other"), 0o600) },
		"a file that others may write": func(file string) error {
			return errors.Join(os.WriteFile(file, []byte("key: other"), 0o600), os.Chmod(file, 0o666))
		},
		"a link to another's file": func(file string) error { return os.Symlink("own.yaml", file) },
		"a link that leads out":    func(file string) error { return os.Symlink("/etc/passwd", file) },
		"a link to nothing":        func(file string) error { return os.Symlink("gone", file) },
		"a folder":                 func(file string) error { return os.Mkdir(file, 0o700) },
		"a FIFO":                   func(file string) error { return syscall.Mkfifo(file, 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			module, side := filepath.Join(dir, "job.wasm"), filepath.Join(dir, "job.yaml")
			bin, err := WithManifest([]byte(preamble), []byte(`{"key":"section"}`))
			must(t, err, os.WriteFile(module, bin, 0o600), os.WriteFile(filepath.Join(dir, "own.yaml"), []byte("key: own"), 0o600), put(side))
			must(t, os.Lchown(side, stranger, -1))
			before, err := os.Lstat(side)
			must(t, err)

			if m := ReadManifests(dir)[0]; !m.JSON || m.Err != nil || !strings.Contains(string(m.Data), "section") {
				t.Errorf("the manifest is %s of %s, %v", m.Data, m.Name, m.Err)
			}
			var log bytes.Buffer
			cfg := Defaults()
			cfg.Dir, cfg.Log = dir, slog.New(slog.NewTextHandler(&log, nil))
			cfg.Manifest = func(m jobhost.ManifestText) (jobhost.Manifest, error) {
				if m.Err != nil || !m.JSON {
					t.Errorf("the host reads %s, %v", m.Name, m.Err)
				}
				return jobhost.Manifest{Key: "section"}, nil
			}
			h, err := New(t.Context(), cfg)
			must(t, err)
			_ = h.Ready(t.Context()) // the module has nothing to run
			must(t, h.Close(t.Context()))
			if n := strings.Count(log.String(), "level=WARN msg=\"manifest left out\""); n != 1 || !strings.Contains(log.String(), "belongs to user 54321") {
				t.Errorf("%d warnings, log is %s", n, log.String())
			}

			must(t, os.Lchown(side, 0, -1)) // the mend that the warning names
			info, err := os.Lstat(side)
			must(t, err)
			if m := ReadManifests(dir)[0]; m.JSON && m.Err == nil && info.Mode().IsRegular() {
				t.Errorf("root's file is left out, too: %+v", m)
			}
			if sameFile(before, info) {
				t.Error("a file that got another owner is the same, and not read again")
			}
		})
	}
}
