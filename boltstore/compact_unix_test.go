//go:build unix

package boltstore

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/jobhost/jobhost"
)

func init() {
	children["compact"] = compactOrSay
	children["compact-small-disk"] = compactOnASmallDisk
}

// compactOrSay tells of each step of a compaction before it goes on, so that it can be killed in the middle.
func compactOrSay(path string) {
	_, err := Compact(context.Background(), path, func(done, _ int64) {
		fmt.Println(done)
		if _, err := bufio.NewReader(os.Stdin).ReadByte(); err != nil { // nobody answers: wait to be killed
			select {}
		}
	})
	fmt.Println("over", err)
}

// compactOnASmallDisk has no room for the new file.
func compactOnASmallDisk(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 3 << 20, Max: 3 << 20}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println("setrlimit:", err)
		return
	}
	_, err := Compact(context.Background(), path, nil)
	fmt.Println(jobhost.CodeOf(err), strings.Contains(err.Error(), path))
}

func TestKilledCompactionLeavesTheFileAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	want := wasted(t, path, 100, 90)
	before := read(t, path)
	c := child(t, "compact", path)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if line := bufio.NewScanner(out); !line.Scan() || strings.HasPrefix(line.Text(), "over") {
		t.Fatalf("the child says %q", line.Text())
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // killed
	if sizeOf(t, path+compactSuffix) == 0 || !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed, or the child was not in the middle")
	}
	s := open(t, path, Config{})
	if exported(t, s) != want {
		t.Error("the records are others")
	}
	alone(t, path)
}

func TestCompactionWithoutRoomLeavesTheFileAsItWas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	wasted(t, path, 100, 90)
	before := read(t, path)
	out, err := child(t, "compact-small-disk", path).Output()
	if want := string(jobhost.StoreFull) + " true\n"; string(out) != want || err != nil {
		t.Errorf("got %v, %q; want %q", err, out, want)
	}
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed")
	}
	alone(t, path)
}

func TestCompactKeepsModeOwnerAndLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real", "jobhost.db"), filepath.Join(dir, "link.db")
	if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	wasted(t, path, 20, 2)
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 { // only then a file can be somebody else's
		if err := os.Chown(path, 12345, 12346); err != nil {
			t.Fatal(err)
		}
	}
	was, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := Compact(t.Context(), link, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is %v, %v", info.Mode(), err)
	}
	is, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	a, b := was.Sys().(*syscall.Stat_t), is.Sys().(*syscall.Stat_t)
	if is.Mode() != was.Mode() || a.Uid != b.Uid || a.Gid != b.Gid || a.Ino == b.Ino {
		t.Errorf("mode %v, owner %d:%d; want a new file with %v, %d:%d", is.Mode(), b.Uid, b.Gid, was.Mode(), a.Uid, a.Gid)
	}
	alone(t, path)
}
