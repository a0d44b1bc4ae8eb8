//go:build unix

package host

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero/experimental/sys"
	"pgregory.net/rapid"
)

// withBudget is a jail with limits on what is written, and a file that is open in it.
func withBudget(t *testing.T, dir string, limit int64) (*jail, sys.File, *noted) {
	t.Helper()
	j := newJail(t, dir, ReadWrite)
	said := &noted{}
	j.r.call.Sink = said
	f, errno := j.OpenFile("file", sys.O_RDWR|sys.O_CREAT, 0)
	if errno != 0 {
		t.Fatal(errno)
	}
	j.budget = budget{limit: limit}
	return j, f, said
}

func TestARunWritesNoMoreThanItMay(t *testing.T) {
	type step struct {
		what string
		do   func(j *jail, f sys.File) (int, sys.Errno)
		n    int
		left int64
	}
	write := func(n int) func(*jail, sys.File) (int, sys.Errno) {
		return func(_ *jail, f sys.File) (int, sys.Errno) { return f.Write(make([]byte, n)) }
	}
	pwrite := func(n int, at int64) func(*jail, sys.File) (int, sys.Errno) {
		return func(_ *jail, f sys.File) (int, sys.Errno) { return f.Pwrite(make([]byte, n), at) }
	}
	seekWrite := func(n int, at int64) func(*jail, sys.File) (int, sys.Errno) {
		return func(_ *jail, f sys.File) (int, sys.Errno) {
			if _, errno := f.Seek(at, 0); errno != 0 {
				return 0, errno
			}
			return f.Write(make([]byte, n))
		}
	}
	truncate := func(to int64) func(*jail, sys.File) (int, sys.Errno) {
		return func(_ *jail, f sys.File) (int, sys.Errno) { return 0, f.Truncate(to) }
	}
	create := func(name string, flag sys.Oflag) func(*jail, sys.File) (int, sys.Errno) {
		return func(j *jail, _ sys.File) (int, sys.Errno) {
			f, errno := j.OpenFile(name, sys.O_RDWR|sys.O_CREAT|flag, 0)
			if errno == 0 {
				return 0, f.Close()
			}
			return 0, errno
		}
	}
	change := func(do func(j *jail) sys.Errno) func(*jail, sys.File) (int, sys.Errno) {
		return func(j *jail, _ sys.File) (int, sys.Errno) { return 0, do(j) }
	}
	appending := func(_ *jail, f sys.File) (int, sys.Errno) {
		if errno := f.SetAppend(true); errno != 0 {
			return 0, errno
		}
		return f.Write(make([]byte, 10))
	}
	const full = -1 // of n: there is no space
	for name, steps := range map[string][]step{
		"writing": {
			{"part", write(60), 60, 40},
			{"what is left", write(60), 40, 0},
			{"no more", write(1), full, 0},
			{"nothing", write(0), 0, 0},
			{"shorter", truncate(0), 0, 0},
			{"still no more", write(1), full, 0},
		},
		"writing the same again": {{"once", pwrite(50, 0), 50, 50}, {"twice", pwrite(50, 0), 50, 0}, {"thrice", pwrite(50, 0), full, 0}},
		"leaving a gap": {
			{"too far", pwrite(1, 100), full, 100}, {"much too far", pwrite(1, 1<<62), full, 100}, {"within", pwrite(20, 90), 10, 0}, {"no more", pwrite(1, 0), full, 0},
		},
		"seeking over a gap": {{"too far", seekWrite(1, 100), full, 100}, {"within", seekWrite(10, 20), 10, 70}, {"in the gap", seekWrite(10, 5), 10, 60}},
		"appending":          {{"from anywhere", appending, 10, 90}, {"again", seekWrite(10, 1<<40), 10, 80}},
		"longer by truncate": {{"too long", truncate(101), full, 100}, {"as long as it may be", truncate(100), 0, 0}, {"shorter", truncate(1), 0, 0}, {"longer again", truncate(2), full, 0}},
	} {
		t.Run(name, func(t *testing.T) {
			j, f, said := withBudget(t, t.TempDir(), 100)
			refused := false
			for _, s := range steps {
				n, errno := s.do(j, f)
				if isFull := errno == sys.EIO && j.r.noSpace; isFull {
					n, errno, refused = full, 0, true
				}
				if errno != 0 || n != s.n || j.budget.limit-j.budget.spent != s.left {
					t.Errorf("%s: %d, %v, and %d are left; want %d and %d", s.what, n, errno, j.budget.limit-j.budget.spent, s.n, s.left)
				}
				j.r.noSpace = false
			}
			var want []string
			if refused {
				want = []string{"capability_denied: /data: the run has used up its max_written, which is 100 bytes"}
			}
			if diff := cmp.Diff(said.lines, want); diff != "" {
				t.Error(diff)
			}
		})
	}
	t.Run("names", func(t *testing.T) {
		j, f, _ := withBudget(t, t.TempDir(), 3*nameCost+10)
		for _, s := range []step{
			{"a file", create("a", 0), 0, 2*nameCost + 10},
			{"the same", create("a", 0), 0, 2*nameCost + 10},
			{"the same, which must be new", create("a", sys.O_EXCL), int(sys.EEXIST), 2*nameCost + 10},
			{"a folder", change(func(j *jail) sys.Errno { return j.Mkdir("d", 0) }), 0, nameCost + 10},
			{"the same", change(func(j *jail) sys.Errno { return j.Mkdir("d", 0) }), int(sys.EEXIST), nameCost + 10},
			{"a link", change(func(j *jail) sys.Errno { return j.Link("a", "b") }), 0, 10},
			{"one more", create("c", 0), full, 10},
			{"one more folder", change(func(j *jail) sys.Errno { return j.Mkdir("e", 0) }), full, 10},
			{"one more link", change(func(j *jail) sys.Errno { return j.Link("a", "f") }), full, 10},
			{"a rename", change(func(j *jail) sys.Errno { return j.Rename("a", "g") }), 0, 10},
			{"an end", change(func(j *jail) sys.Errno { return j.Unlink("g") }), 0, 10},
			{"what is there", create("b", 0), 0, 10},
		} {
			_, errno := s.do(j, f)
			n := int(errno)
			if errno == sys.EIO && j.r.noSpace {
				n = full
			}
			if left := j.budget.limit - j.budget.spent; n != s.n || left != s.left {
				t.Errorf("%s: %d, and %d are left; want %d and %d", s.what, n, left, s.n, s.left)
			}
			j.r.noSpace = false
		}
		if entries, err := os.ReadDir(j.root.Name()); err != nil || len(entries) != 3 {
			t.Errorf("there are %v, %v", entries, err)
		}
	})
	t.Run("without a limit", func(t *testing.T) {
		j, f, said := withBudget(t, t.TempDir(), 0)
		if n, errno := f.Pwrite(make([]byte, 5), 1<<30); n != 5 || errno != 0 || j.budget.spent != 0 || said.lines != nil {
			t.Errorf("%d, %v, %+v, %q", n, errno, j.budget, said.lines)
		}
	})
}

// Whatever a run does, its folder holds no more than it may write.
func TestAFolderHoldsNoMoreThanARunMayWrite(t *testing.T) {
	dir, tries := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		tries++
		inside := filepath.Join(dir, "try"+strconv.Itoa(tries))
		must(t, os.Mkdir(inside, 0o700))
		const limit = 64 << 10
		j, first, _ := withBudget(t, inside, limit)
		files := []sys.File{first}
		for n := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			f := files[rapid.IntRange(0, len(files)-1).Draw(rt, "file")]
			b := make([]byte, rapid.IntRange(0, 20<<10).Draw(rt, "bytes"))
			at := rapid.Int64Range(0, 80<<10).Draw(rt, "at")
			switch rapid.IntRange(0, 5).Draw(rt, "do") {
			case 0:
				_, _ = f.Write(b)
			case 1:
				_, _ = f.Pwrite(b, at)
			case 2:
				_ = f.Truncate(at)
			case 3:
				_, _ = f.Seek(at, 0)
			case 4:
				_ = f.SetAppend(at%2 == 0)
			case 5:
				if f, errno := j.OpenFile(strconv.Itoa(n), sys.O_RDWR|sys.O_CREAT, 0); errno == 0 {
					files = append(files, f)
				}
			}
		}
		total, names := int64(0), int64(-1) // the first file is not counted
		entries, err := os.ReadDir(inside)
		must(t, err)
		for _, e := range entries {
			info, err := os.Stat(filepath.Join(inside, e.Name()))
			must(t, err)
			total, names = total+info.Size(), names+1
		}
		if total+names*nameCost > limit {
			rt.Fatalf("there are %d bytes and %d names; the limit is %d", total, names, limit)
		}
		for _, f := range files {
			_ = f.Close()
		}
	})
}
