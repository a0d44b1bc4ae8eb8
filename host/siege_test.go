//go:build unix

package host

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"
)

// Siege is a folder that others turn inside out while guests use it, and what is outside of it.
//
// Each of SwapNames is now a folder and now a link to the outside. That has a file "secret", too, with other words in it, and what
// the guests make inside. Its "victim", "cellar" and "pointer" are nowhere inside: a guest that gets anything by one of those is
// outside.
type Siege struct {
	Inside, Outside string

	top    string
	root   *os.Root // of Inside, wherever it is
	before map[string]string
	inodes map[wsys.Inode]string
}

// Harmless is what the files inside say.
const Harmless = "harmless"

// attackers is how many guests use the folder at once.
const attackers = 3

// own is a name that one of them makes.
func own(name string, attacker int) string { return fmt.Sprint(name, attacker) }

// SwapNames are the names in the folder that are swapped.
var SwapNames = []string{"swap", "deep/swap"}

// NewSiege lays out the folders, and swaps names in them until the test is over.
func NewSiege(t *testing.T) *Siege {
	t.Helper()
	top := t.TempDir()
	s := &Siege{Inside: filepath.Join(top, "in"), Outside: filepath.Join(top, "out"), top: top}
	in, out := func(name string) string { return filepath.Join(s.Inside, name) }, func(name string) string { return filepath.Join(s.Outside, name) }
	must(t,
		os.MkdirAll(out("cellar"), 0o700), os.WriteFile(out("secret"), []byte(secret), 0o600), os.WriteFile(out("victim"), []byte(secret), 0o600),
		os.Symlink("victim", out("pointer")),
		os.MkdirAll(in("swap"), 0o700), os.WriteFile(in("swap/secret"), []byte(Harmless), 0o600), os.Symlink(s.Outside, in("swap-evil")),
		os.MkdirAll(in("deep/swap"), 0o700), os.WriteFile(in("deep/swap/secret"), []byte(Harmless), 0o600), os.Symlink("../../out", in("deep/swap-evil")),
		os.WriteFile(in("file"), []byte(Harmless), 0o600), os.Symlink("../out/secret", in("file-evil")),
		os.WriteFile(in("node"), []byte(Harmless), 0o600), syscall.Mkfifo(in("node-evil"), 0o600),
		// This link leads to a file inside, and outside once the folder that it is in is a level higher.
		os.MkdirAll(in("a/b/c"), 0o700), os.Symlink("../../../out/secret", in("a/b/c/rel")),
		os.MkdirAll(in("out"), 0o700), os.WriteFile(in("out/secret"), []byte(Harmless), 0o600),
		os.Symlink("out", filepath.Join(top, "in-evil")),
	)
	for i := range attackers {
		must(t, os.WriteFile(out(own("mine", i)), nil, 0o600), os.WriteFile(out(own("other", i)), nil, 0o600), os.Mkdir(out(own("cell", i)), 0o700))
	}
	root, err := os.OpenRoot(s.Inside)
	must(t, err)
	s.root = root
	s.before, s.inodes = s.look(t)

	var natives sync.WaitGroup
	stop := make(chan struct{})
	swap := func(rename func(from, to string) error, moves ...[2]string) {
		natives.Go(func() {
			for {
				for _, m := range moves {
					if err := rename(m[0], m[1]); err != nil {
						t.Errorf("the test itself cannot swap: %v", err)
						return
					}
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	cycle := func(name string) [][2]string {
		return [][2]string{{name, name + "-aside"}, {name + "-evil", name}, {name, name + "-evil"}, {name + "-aside", name}}
	}
	swapTwo, err := exchange(root)
	must(t, err)
	for _, name := range append([]string{"file", "node"}, SwapNames...) {
		swap(swapTwo, [2]string{name, name + "-evil"})
	}
	swap(root.Rename, [2]string{"a/b", "b"}, [2]string{"b", "a/b"})
	swap(os.Rename, cycle(s.Inside)...)
	t.Cleanup(func() {
		close(stop)
		natives.Wait()
		_ = root.Close()
		if after, _ := s.look(t); !cmp.Equal(after, s.before) {
			t.Errorf("the outside has changed (-got +want):\n%s", cmp.Diff(after, s.before))
		}
	})
	return s
}

// look returns all that there is to see outside, and its inodes.
func (s *Siege) look(t *testing.T) (seen map[string]string, inodes map[wsys.Inode]string) {
	t.Helper()
	seen, inodes = map[string]string{}, map[wsys.Inode]string{}
	must(t, filepath.WalkDir(s.Outside, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		st := wsys.NewStat_t(info)
		seen[name] = fmt.Sprintf("mode %v, links %d, size %d, modified %d, changed %d", st.Mode, st.Nlink, st.Size, st.Mtim, st.Ctim)
		inodes[st.Ino] = name
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(name)
			seen[name] += fmt.Sprintf(", %q", data)
			return err
		}
		return nil
	}))
	entries, err := os.ReadDir(s.top)
	must(t, err)
	for _, e := range entries {
		seen["beside "+strings.TrimSuffix(strings.TrimSuffix(e.Name(), "-evil"), "-aside")] = ""
	}
	return seen, inodes
}

// attacker is a guest that tries everything at once.
type attacker struct {
	t       *testing.T
	s       *Siege
	j       *jail
	id      int
	reached map[string]int // by operation, inside
	refused map[string]int
}

// note counts an operation, and tells on one that cannot succeed inside.
func (a *attacker) note(what string, errno sys.Errno, outside bool) {
	switch {
	case errno != 0:
		a.refused[what]++
	case outside:
		a.t.Errorf("%s reached the outside", what)
	default:
		a.reached[what]++
	}
}

// status notes what is known of a file.
func (a *attacker) status(what string, st wsys.Stat_t, errno sys.Errno) {
	if name, bad := a.s.inodes[st.Ino]; bad && errno == 0 {
		a.t.Errorf("%s tells of %s", what, name)
	}
	a.note(what, errno, false)
}

// file opens a file, reads it, writes what was in it and closes it.
func (a *attacker) file(what, name string, flag sys.Oflag) {
	f, errno := a.j.OpenFile(name, flag, 0)
	if errno != 0 {
		a.note(what, errno, false)
		return
	}
	st, errno := f.Stat()
	a.status(what, st, errno)
	if errno == 0 && !st.Mode.IsRegular() {
		a.t.Errorf("%s opened what has the mode %v", what, st.Mode)
	}
	b := make([]byte, 2*len(secret))
	if n, errno := f.Pread(b, 0); errno == 0 && strings.Contains(string(b[:n]), secret) {
		a.t.Errorf("%s reads %q", what, b[:n])
	}
	if flag&sys.O_RDWR != 0 {
		_, _ = f.Pwrite([]byte(Harmless), 0) // also where it does harm
		_ = f.Truncate(int64(len(Harmless)))
	}
	if errno := f.Close(); errno != 0 {
		a.t.Error(errno)
	}
}

func (a *attacker) list(name string) {
	d, errno := a.j.OpenFile(name, sys.O_RDONLY|sys.O_DIRECTORY, 0)
	a.note("list", errno, false)
	if errno != 0 {
		return
	}
	entries, _ := d.Readdir(-1)
	for _, e := range entries {
		if at, bad := a.s.inodes[e.Ino]; bad || e.Name == "victim" || e.Name == "cellar" || e.Name == "pointer" {
			a.t.Errorf("a list has %s, which is %s", e.Name, at)
		}
	}
	if errno := d.Close(); errno != 0 {
		a.t.Error(errno)
	}
}

// swapped tries a folder that is one only now and then.
func (a *attacker) swapped(dir string) {
	in := func(name string) string { return dir + "/" + name }
	mine, other, cell, loot := in(own("mine", a.id)), in(own("other", a.id)), in(own("cell", a.id)), own("loot", a.id)
	bad := func(what string, errno sys.Errno) { a.note(what, errno, true) }
	good := func(what string, errno sys.Errno) { a.note(what, errno, false) }
	a.file("read", in("secret"), sys.O_RDONLY)
	a.file("rewrite", in("secret"), sys.O_RDWR)
	for range 5 { // what is there in both places shows a change alone, so it is tried more often
		a.file("create", mine, sys.O_RDWR|sys.O_CREAT)
		a.file("create anew", other, sys.O_RDWR|sys.O_CREAT|sys.O_EXCL)
		good("rename", a.j.Rename(mine, other))
		good("link", a.j.Link(other, mine))
		good("times", a.j.Utimens(in("secret"), 1, 2))
		good("unlink", a.j.Unlink(mine))
		good("unlink", a.j.Unlink(other))
		good("mkdir", a.j.Mkdir(cell, 0o777))
		good("rmdir", a.j.Rmdir(cell))
	}
	a.list(dir)
	st, errno := a.j.Stat(in("secret"))
	a.status("stat", st, errno)
	st, errno = a.j.Lstat(in("secret"))
	a.status("lstat", st, errno)

	_, errno = a.j.Stat(in("victim"))
	bad("stat of the victim", errno)
	_, errno = a.j.Lstat(in("pointer"))
	bad("lstat of the pointer", errno)
	_, errno = a.j.Readlink(in("pointer"))
	bad("readlink of the pointer", errno)
	_, errno = a.j.OpenFile(in("victim"), sys.O_RDWR|sys.O_TRUNC, 0)
	bad("truncate of the victim", errno)
	_, errno = a.j.OpenFile(in("victim"), sys.O_WRONLY|sys.O_APPEND, 0)
	bad("append to the victim", errno)
	bad("times of the victim", a.j.Utimens(in("victim"), 1, 2))
	bad("unlink of the victim", a.j.Unlink(in("victim")))
	bad("rename of the victim", a.j.Rename(in("victim"), loot))
	bad("link to the victim", a.j.Link(in("victim"), loot))
	bad("rmdir of the cellar", a.j.Rmdir(in("cellar")))
	bad("mkdir in the cellar", a.j.Mkdir(in("cellar/x"), 0o777))
	bad("symlink", a.j.Symlink("secret", mine))
}

// others tries the other names.
func (a *attacker) others() {
	loot := own("loot", a.id)
	for _, flag := range []sys.Oflag{sys.O_RDONLY, sys.O_RDWR, sys.O_RDWR | sys.O_TRUNC, sys.O_RDWR | sys.O_CREAT, sys.O_RDONLY | sys.O_NOFOLLOW} {
		a.file("file", "file", flag)
		a.file("node", "node", flag)
	}
	st, errno := a.j.Stat("file")
	a.status("stat of the file", st, errno)
	a.note("times of the file", a.j.Utimens("file", 1, 2), false)
	a.note("link to the file", a.j.Link("file", loot), false)
	a.file("the file by its link", loot, sys.O_RDWR)
	a.note("unlink of the link", a.j.Unlink(loot), false)
	for _, name := range []string{"a/b/c/rel", "b/c/rel", "a/b/c/../../../b/c/rel", "deep/swap/../swap/secret"} {
		a.file("relative", name, sys.O_RDONLY)
	}
}

// done reports whether each operation was possible and impossible: else it did not meet both sides of a swap.
func (a *attacker) done() bool {
	for _, what := range []string{"read", "rewrite", "create", "rename", "link", "times", "unlink", "mkdir", "rmdir", "list", "stat", "lstat", "file", "node", "relative"} {
		if a.reached[what] == 0 || a.refused[what] == 0 {
			return false
		}
	}
	return true
}

// Whatever happens to the names in a granted folder while guests use it, nothing outside is read or changed.
func TestNothingIsReachedThroughASwapBetweenCheckAndUse(t *testing.T) {
	const rounds, patience = 300, 30
	s := NewSiege(t)
	var guests sync.WaitGroup
	for i := range attackers {
		a := &attacker{t: t, s: s, j: s.jail(t), id: i, reached: map[string]int{}, refused: map[string]int{}}
		guests.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for n := 0; !t.Failed() && (n < rounds || !a.done()); n++ {
				if n == patience*rounds {
					t.Errorf("possible were %v, impossible %v, so that not all was tried", a.reached, a.refused)
					return
				}
				if k := r.IntN(len(SwapNames) + 1); k < len(SwapNames) {
					a.swapped(SwapNames[k])
				} else {
					a.others()
				}
			}
		})
	}
	guests.Wait()
}

// jail is the folder as a run of its own has it, whatever its path stands for.
func (s *Siege) jail(t *testing.T) *jail {
	t.Helper()
	j := newJail(t, t.TempDir(), ReadWrite)
	must(t, j.root.Close())
	root, err := s.root.OpenRoot(".")
	must(t, err)
	j.root = root
	return j
}
