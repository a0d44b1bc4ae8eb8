//go:build unix

package host

import (
	"context"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

const secret = "what no guest may see"

// newJail returns the jail of a run that is granted dir.
func newJail(t *testing.T, dir string, mode Mode) *jail {
	t.Helper()
	r := &run{host: &Host{}, ctx: t.Context(), slot: slot{all: newSlots(1)}, call: jobhost.Call{Sink: deaf{}}, grant: Grant{Dirs: []Dir{{Host: dir, Guest: "/data", Mode: mode}}}}
	if !r.slot.take(t.Context()) {
		t.Fatal("no slot")
	}
	if _, err := r.mount(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	return r.jails[0]
}

// noted keeps the lines of a run's log.
type noted struct {
	deaf

	lines []string
}

func (n *noted) Log(_ int, msg string) { n.lines = append(n.lines, msg) }

// prison lays out a granted folder with ways out of it, and the folder outside that they lead to.
func prison(t *testing.T) (inside, outside string) {
	t.Helper()
	top := t.TempDir()
	inside, outside = filepath.Join(top, "in"), filepath.Join(top, "out")
	in := func(name string) string { return filepath.Join(inside, name) }
	must(t,
		os.MkdirAll(in("deep/er"), 0o700), os.Mkdir(outside, 0o700),
		os.WriteFile(filepath.Join(outside, "secret"), []byte(secret), 0o600),
		os.WriteFile(in("plain"), []byte("hello"), 0o600),
		os.WriteFile(in("deep/file"), []byte("deep"), 0o600),
		os.Symlink(filepath.Join(outside, "secret"), in("absolute")),
		os.Symlink("../out/secret", in("relative")),
		os.Symlink("../out", in("folder")),
		os.Symlink("..", in("up")),
		os.Symlink("/", in("root")),
		os.Symlink("deep/../../out/secret", in("winding")),
		os.Symlink("relative", in("chain")),
		os.Symlink("../../../out/secret", in("deep/er/far")),
		os.Symlink("/proc/self/root/"+outside, in("proc")),
		os.Symlink("not-there-yet", in("dangling")),
		os.Symlink("../out/new", in("newfile")),
		os.Symlink("plain", in("good")),
		os.Symlink("loop", in("loop")),
		syscall.Mkfifo(in("fifo"), 0o600),
	)
	return inside, outside
}

// waysOut are paths that lead out of the prison, or to what a guest may not open.
var waysOut = []string{
	"../out/secret", "/../out/secret", "deep/../../out/secret", "./../out/secret", "//../out/secret", "deep/er/../../../out/secret",
	"absolute", "relative", "folder/secret", "folder/../out/secret", "up/out/secret", "root/etc/passwd", "winding", "chain", "deep/er/far",
	"proc/secret", "newfile", "fifo", "socket", "/fifo", "fifo/",
	"deep/er/../../folder/secret", "good/../../out/secret", "up/in/up/out/secret", "loop", "..", "../", "deep/../..",
}

func TestNoPathLeadsOutOfAJail(t *testing.T) {
	inside, outside := prison(t)
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(inside, "socket"))
	must(t, err)
	defer l.Close()
	j := newJail(t, inside, ReadWrite)
	for _, way := range waysOut {
		for _, flag := range []sys.Oflag{
			sys.O_RDONLY, sys.O_RDWR, sys.O_WRONLY, sys.O_RDWR | sys.O_CREAT, sys.O_WRONLY | sys.O_CREAT | sys.O_TRUNC, sys.O_RDONLY | sys.O_DIRECTORY,
			sys.O_WRONLY | sys.O_APPEND, sys.O_RDONLY | sys.O_NOFOLLOW, sys.O_RDWR | sys.O_CREAT | sys.O_EXCL,
		} {
			if f, errno := j.OpenFile(way, flag, 0o666); errno == 0 {
				b := make([]byte, 100)
				n, _ := f.Read(b)
				t.Errorf("open %s with flags %b worked; it reads %q", way, flag, b[:n])
			}
		}
		if errno := j.Mkdir(way+"/x", 0o777); errno == 0 {
			t.Errorf("mkdir below %s worked", way)
		}
		if errno := j.Utimens(way, 0, 0); errno == 0 && way != "fifo" && way != "socket" && way != "/fifo" && way != "fifo/" {
			t.Errorf("utimens of %s worked", way)
		}
		for name, errno := range map[string]sys.Errno{
			"rename to": j.Rename("plain", way+"/stolen"), "link to": j.Link("plain", way+"/linked"),
			"rename from": j.Rename("folder/secret", "got"), "link from": j.Link("folder/secret", "got"),
			"rmdir": j.Rmdir(way + "/secret"), "unlink": j.Unlink(way + "/secret"),
		} {
			if errno == 0 {
				t.Errorf("%s %s worked", name, way)
			}
		}
	}
	for _, way := range []string{"absolute", "relative", "folder", "root", "winding", "proc", "deep/er/far", "newfile", "up"} {
		if target, errno := j.Readlink(way); errno != sys.EPERM {
			t.Errorf("readlink %s says %q, %v", way, target, errno)
		}
	}
	got, err := os.ReadFile(filepath.Join(outside, "secret"))
	entries, err2 := os.ReadDir(outside)
	if err != nil || err2 != nil || string(got) != secret || len(entries) != 1 {
		t.Errorf("outside are %v with %q, %v %v", entries, got, err, err2)
	}
	if b, err := os.ReadFile(filepath.Join(inside, "plain")); err != nil || string(b) != "hello" {
		t.Errorf("the plain file is %q, %v", b, err)
	}
}

func TestEscapesAreEPERM(t *testing.T) {
	inside, _ := prison(t)
	j := newJail(t, inside, ReadOnly)
	for _, way := range []string{"absolute", "relative", "folder/secret", "up/out/secret", "fifo"} {
		if _, errno := j.OpenFile(way, sys.O_RDONLY, 0); errno != sys.EPERM {
			t.Errorf("open %s: %v, want EPERM", way, errno)
		}
	}
}

func TestLinksCannotBeMadeOrMoved(t *testing.T) {
	inside, _ := prison(t)
	j := newJail(t, inside, ReadWrite)
	for name, errno := range map[string]sys.Errno{
		"symlink out": j.Symlink("../out", "mine"), "symlink in": j.Symlink("plain", "mine"),
		"rename of a link": j.Rename("deep/er/far", "far"), "link to a link": j.Link("deep/er/far", "far"),
	} {
		if errno != sys.EPERM {
			t.Errorf("%s: %v, want EPERM", name, errno)
		}
	}
	if target, errno := j.Readlink("good"); errno != 0 || target != "plain" {
		t.Errorf("readlink of a good link: %q, %v", target, errno)
	}
	if errno := j.Unlink("absolute"); errno != 0 {
		t.Errorf("removing a link: %v", errno)
	}
}

func TestAReadOnlyFolderStaysAsItIs(t *testing.T) {
	inside, _ := prison(t)
	j := newJail(t, inside, ReadOnly)
	said := &noted{}
	j.r.call.Sink = said
	for name, do := range map[string]func() sys.Errno{
		"create":   func() sys.Errno { _, e := j.OpenFile("new", sys.O_RDWR|sys.O_CREAT, 0o600); return e },
		"write":    func() sys.Errno { _, e := j.OpenFile("plain", sys.O_WRONLY, 0); return e },
		"truncate": func() sys.Errno { _, e := j.OpenFile("plain", sys.O_RDONLY|sys.O_TRUNC, 0); return e },
		"append":   func() sys.Errno { _, e := j.OpenFile("plain", sys.O_RDONLY|sys.O_APPEND, 0); return e },
		"mkdir":    func() sys.Errno { return j.Mkdir("new", 0o700) },
		"rename":   func() sys.Errno { return j.Rename("plain", "new") },
		"link":     func() sys.Errno { return j.Link("plain", "new") },
		"unlink":   func() sys.Errno { return j.Unlink("plain") },
		"rmdir":    func() sys.Errno { return j.Rmdir("deep") },
		"utimens":  func() sys.Errno { return j.Utimens("plain", 0, 0) },
	} {
		if errno := do(); errno != sys.EROFS {
			t.Errorf("%s: %v, want EROFS", name, errno)
		}
	}
	if diff := cmp.Diff(said.lines, []string{"capability_denied: /data may only be read; `mode: rw` beside it would let the plugin write"}); diff != "" {
		t.Error(diff)
	}
	f, errno := j.OpenFile("plain", sys.O_RDONLY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	if _, errno := f.Write([]byte("x")); errno != sys.EBADF {
		t.Errorf("write to a file that is open for reading: %v", errno)
	}
	if errno := f.Truncate(0); errno != sys.EBADF {
		t.Errorf("truncate of a file that is open for reading: %v", errno)
	}
}

func TestFilesInAJailCanBeUsed(t *testing.T) {
	inside, _ := prison(t)
	j := newJail(t, inside, ReadWrite)
	f, errno := j.OpenFile("/deep/new", sys.O_RDWR|sys.O_CREAT, 0o4777)
	if errno != 0 {
		t.Fatal(errno)
	}
	if n, errno := f.Write([]byte("0123456789")); n != 10 || errno != 0 {
		t.Errorf("write: %d, %v", n, errno)
	}
	if n, errno := f.Pwrite([]byte("xy"), 2); n != 2 || errno != 0 {
		t.Errorf("pwrite: %d, %v", n, errno)
	}
	if errno := f.SetAppend(true); errno != 0 {
		t.Errorf("append: %v", errno)
	}
	if at, errno := f.Seek(0, io.SeekStart); at != 0 || errno != 0 {
		t.Errorf("seek: %d, %v", at, errno)
	}
	if _, errno := f.Write([]byte("!")); errno != 0 {
		t.Errorf("write at the end: %v", errno)
	}
	b := make([]byte, 20)
	if n, errno := f.Pread(b, 0); errno != 0 || string(b[:n]) != "01xy456789!" {
		t.Errorf("pread: %q, %v", b[:n], errno)
	}
	if errno := f.Truncate(4); errno != 0 {
		t.Errorf("truncate: %v", errno)
	}
	if st, errno := j.Stat("deep/new"); errno != 0 || st.Size != 4 || st.Mode&(fs.ModeSetuid|0o077) != st.Mode&0o077 {
		t.Errorf("stat: %+v, %v", st, errno)
	}
	if errno := f.Close(); errno != 0 {
		t.Errorf("close: %v", errno)
	}
	for i, errno := range []sys.Errno{
		j.Mkdir("deep/dir/", 0o700), j.Rename("deep/new", "deep/dir/old"), j.Link("plain", "deep/dir/plain"),
		j.Utimens("plain", sys.UTIME_OMIT, int64(5*time.Second)),
	} {
		if errno != 0 {
			t.Errorf("change %d: %v", i+1, errno)
		}
	}
	if st, errno := j.Stat("plain"); errno != 0 || st.Mtim != int64(5*time.Second) {
		t.Errorf("stat after utimens: %+v, %v", st, errno)
	}
	if errno := j.Rmdir("plain"); errno != sys.ENOTDIR {
		t.Errorf("rmdir of a file: %v", errno)
	}
	if errno := j.Unlink("deep"); errno != sys.EISDIR {
		t.Errorf("unlink of a folder: %v", errno)
	}
	if _, errno := j.OpenFile("plain/", sys.O_RDONLY, 0); errno != sys.ENOTDIR {
		t.Errorf("open of a file as a folder: %v", errno)
	}
	if _, errno := j.OpenFile(strings.Repeat("a/", abi.MaxPath), sys.O_RDONLY, 0); errno != sys.ENAMETOOLONG {
		t.Errorf("open of a long path: %v", errno)
	}
}

func TestFoldersAreListedToTheEnd(t *testing.T) {
	dir := t.TempDir()
	want := map[string]bool{}
	for i := range 3*readdirBatch + 7 {
		name := "f" + strings.Repeat("x", i%5) + string(rune('0'+i%10)) + strings.Repeat("y", i/10)
		want[name] = true
		must(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	j := newJail(t, dir, ReadOnly)
	d, errno := j.OpenFile("/", sys.O_RDONLY|sys.O_DIRECTORY, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	for range 2 { // a second time after rewinding
		got := map[string]bool{}
		for {
			entries, errno := d.Readdir(600)
			if errno != 0 {
				t.Fatal(errno)
			}
			for _, e := range entries {
				got[e.Name] = true
				if e.Ino == 0 {
					t.Fatalf("%s has no inode", e.Name)
				}
			}
			if len(entries) < 600 {
				break
			}
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatal(diff)
		}
		if _, errno := d.Seek(0, io.SeekStart); errno != 0 {
			t.Fatal(errno)
		}
	}
	if _, errno := d.Read(make([]byte, 1)); errno != sys.EISDIR {
		t.Errorf("reading a folder: %v", errno)
	}
}

func TestARunHasAtMostSoManyOpenFiles(t *testing.T) {
	inside, _ := prison(t)
	j := newJail(t, inside, ReadOnly)
	var last sys.File
	for range abi.MaxOpenFiles {
		f, errno := j.OpenFile("plain", sys.O_RDONLY, 0)
		if errno != 0 {
			t.Fatal(errno)
		}
		last = f
	}
	if _, errno := j.OpenFile("plain", sys.O_RDONLY, 0); errno != sys.EAGAIN {
		t.Errorf("one too many: %v", errno)
	}
	if errno := last.Close(); errno != 0 {
		t.Error(errno)
	}
	if errno := last.Close(); errno != 0 {
		t.Error(errno)
	}
	if _, errno := j.OpenFile("plain", sys.O_RDONLY, 0); errno != 0 {
		t.Errorf("after closing one: %v", errno)
	}
}

func TestOneReadOrWriteMovesAtMostAChunk(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "big"), make([]byte, 3*abi.MaxChunk), 0o600))
	j := newJail(t, dir, ReadWrite)
	f, errno := j.OpenFile("big", sys.O_RDWR, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	b := make([]byte, 2*abi.MaxChunk)
	for name, do := range map[string]func() (int, sys.Errno){
		"read":   func() (int, sys.Errno) { return f.Read(b) },
		"write":  func() (int, sys.Errno) { return f.Write(b) },
		"pread":  func() (int, sys.Errno) { return f.Pread(b, 0) },
		"pwrite": func() (int, sys.Errno) { return f.Pwrite(b, 0) },
	} {
		if n, errno := do(); n != abi.MaxChunk || errno != 0 {
			t.Errorf("%s moved %d bytes, %v", name, n, errno)
		}
	}
}

// A folder that is swapped for a link to the outside while a guest uses it does not let it out.
func TestASwapBetweenCheckAndUseDoesNotLeadOut(t *testing.T) {
	inside, outside := prison(t)
	in := func(name string) string { return filepath.Join(inside, name) }
	must(t, os.Mkdir(in("swap"), 0o700), os.WriteFile(in("swap/secret"), []byte("harmless"), 0o600), os.Symlink(outside, in("evil")))
	j := newJail(t, inside, ReadWrite)
	ctx, stop := context.WithCancel(t.Context())
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for ctx.Err() == nil {
			for _, move := range [][2]string{{"swap", "aside"}, {"evil", "swap"}, {"swap", "evil"}, {"aside", "swap"}} {
				if err := os.Rename(in(move[0]), in(move[1])); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	opened := 0
	b := make([]byte, 100)
	for range 3_000 {
		f, errno := j.OpenFile("swap/secret", sys.O_RDONLY, 0)
		if errno != 0 {
			continue
		}
		opened++
		if n, _ := f.Read(b); string(b[:n]) != "harmless" {
			t.Errorf("read %q", b[:n])
		}
		if errno := f.Close(); errno != 0 {
			t.Error(errno)
		}
		if errno := j.Mkdir("swap/made", 0o700); errno == 0 {
			_ = j.Rmdir("swap/made")
		}
	}
	stop()
	swapping.Wait()
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside are %v, %v", entries, err)
	}
	if opened == 0 {
		t.Error("the file could never be opened, so nothing was tried")
	}
}
