package host

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost/abi"
)

// jail is a folder of the host as one run sees it (ABI 5). It stands on os.Root, so no symbolic link, "..", or absolute
// path leads out. wazero's own DirFS is no jail: it joins paths and opens them by name. What it cannot do is interrupt
// a hung network mount; the run's slot goes to others meanwhile.
type jail struct {
	sys.UnimplementedFS
	r        *run
	guest    string // where the guest sees it
	root     *os.Root
	writable bool
	budget   budget
	open     map[*jailFile]struct{}
}

// close closes what the guest has left open, and the folder.
func (j *jail) close() {
	for f := range j.open {
		_ = f.Close() // nobody is left to be told
	}
	_ = j.root.Close()
}

// enter surrounds a call to the operating system, which may take long. Its result ends it.
func (j *jail) enter() func() {
	j.r.check()
	j.r.slot.begin()
	return func() {
		if !j.r.slot.end(j.r.ctx) {
			panic(errEnded)
		}
	}
}

// change makes a change that counts as so many written bytes, if the guest may make any.
func (j *jail) change(cost int64, f func() error) sys.Errno {
	if !j.writable {
		return j.readOnly()
	}
	defer j.enter()()
	return j.errno(j.pay(cost, f))
}

// readOnly refuses a change, and tells in the run's log.
func (j *jail) readOnly() sys.Errno {
	j.r.denied("dirs "+j.guest, j.guest+" may only be read; `mode: rw` beside it would let the plugin write")
	return sys.EROFS
}

// inside is a guest's path in the form that os.Root wants. wazero gives some with a leading slash, and keeps a trailing
// one.
func inside(p string) (string, sys.Errno) {
	if len(p) > abi.MaxPath {
		return "", sys.ENAMETOOLONG
	}
	if p = strings.Trim(p, "/"); p == "" {
		return ".", 0
	}
	return p, 0
}

// allowed reports whether a guest may open what has this mode. A FIFO would wait past the time limit, a device may do
// anything.
func allowed(mode fs.FileMode) bool { return mode.IsRegular() || mode.IsDir() }

// The modes of what a guest makes, less the umask of the host's process. WASI preview 1 has no modes, so wazero asks for ones
// that nobody else could use.
const (
	newFile   fs.FileMode = 0o666
	newFolder fs.FileMode = 0o777
)

// OpenFile implements sys.FS.
func (j *jail) OpenFile(name string, flag sys.Oflag, _ fs.FileMode) (sys.File, sys.Errno) {
	p, errno := inside(name)
	if errno != 0 {
		return nil, errno
	}
	if j.r.files >= abi.MaxOpenFiles {
		return nil, sys.EAGAIN
	}
	access := flag & (sys.O_RDWR | sys.O_WRONLY)
	if !j.writable && (access != sys.O_RDONLY || flag&(sys.O_CREAT|sys.O_TRUNC|sys.O_APPEND) != 0) {
		return nil, j.readOnly()
	}
	defer j.enter()()
	there, errno := j.look(p, name, flag)
	if errno != 0 {
		return nil, errno
	}
	cost := int64(0)
	if !there && flag&sys.O_CREAT != 0 {
		cost = nameCost
	}
	var f *os.File
	err := j.pay(cost, func() (err error) {
		f, err = j.root.OpenFile(p, openFlags(flag), newFile)
		return err
	})
	if err != nil {
		return nil, j.errno(err)
	}
	file, errno := j.opened(f, flag)
	if errno != 0 {
		_ = f.Close() // it was never used
		return nil, errno
	}
	return file, 0
}

// look asks what is there before it is opened, since opening a device can do something by itself.
func (j *jail) look(p, name string, flag sys.Oflag) (there bool, errno sys.Errno) {
	if flag&sys.O_NOFOLLOW != 0 {
		if st, err := j.root.Lstat(p); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return true, sys.ELOOP
		}
	}
	st, err := j.root.Stat(p)
	switch {
	case err != nil:
		return false, 0 // opening will tell, or create it
	case !allowed(st.Mode()):
		return true, sys.EPERM
	case !st.IsDir() && (flag&sys.O_DIRECTORY != 0 || strings.HasSuffix(name, "/")):
		return true, sys.ENOTDIR
	}
	return true, 0
}

// opened looks again at what was opened, and empties it only then.
func (j *jail) opened(f *os.File, flag sys.Oflag) (*jailFile, sys.Errno) {
	st, err := f.Stat()
	switch {
	case err != nil:
		return nil, j.errno(err)
	case !allowed(st.Mode()):
		return nil, sys.EPERM
	case flag&sys.O_DIRECTORY != 0 && !st.IsDir():
		return nil, sys.ENOTDIR
	}
	if flag&sys.O_TRUNC != 0 && !st.IsDir() {
		if err := f.Truncate(0); err != nil {
			return nil, j.errno(err)
		}
	}
	file := &jailFile{
		j: j, f: f, dir: st.IsDir(), appends: flag&sys.O_APPEND != 0,
		writable: flag&(sys.O_RDWR|sys.O_WRONLY) != 0,
	}
	j.open[file] = struct{}{}
	j.r.files++
	return file, 0
}

// openFlags translates the flags that the system has to see. Truncating and the test for a directory come after it.
func openFlags(flag sys.Oflag) int {
	out := os.O_RDONLY | openNonblocking
	switch {
	case flag&sys.O_RDWR != 0:
		out = os.O_RDWR | openNonblocking
	case flag&sys.O_WRONLY != 0:
		out = os.O_WRONLY | openNonblocking
	}
	for ours, theirs := range map[sys.Oflag]int{
		sys.O_APPEND: os.O_APPEND, sys.O_CREAT: os.O_CREATE, sys.O_EXCL: os.O_EXCL,
		sys.O_SYNC: os.O_SYNC, sys.O_DSYNC: os.O_SYNC, sys.O_RSYNC: os.O_SYNC,
	} {
		if flag&ours != 0 {
			out |= theirs
		}
	}
	return out
}

// Lstat implements sys.FS.
func (j *jail) Lstat(name string) (wsys.Stat_t, sys.Errno) { return j.stat(name, j.root.Lstat) }

// Stat implements sys.FS.
func (j *jail) Stat(name string) (wsys.Stat_t, sys.Errno) { return j.stat(name, j.root.Stat) }

func (j *jail) stat(name string, stat func(string) (fs.FileInfo, error)) (wsys.Stat_t, sys.Errno) {
	p, errno := inside(name)
	if errno != 0 {
		return wsys.Stat_t{}, errno
	}
	defer j.enter()()
	st, err := stat(p)
	if err != nil {
		return wsys.Stat_t{}, j.errno(err)
	}
	return wsys.NewStat_t(st), 0
}

// Mkdir implements sys.FS.
func (j *jail) Mkdir(name string, _ fs.FileMode) sys.Errno {
	p, errno := inside(name)
	if errno != 0 {
		return errno
	}
	return j.change(nameCost, func() error { return j.root.Mkdir(p, newFolder) })
}

// Rename implements sys.FS. A symbolic link stays where it is: moved upward, it could point out of the folder.
func (j *jail) Rename(from, to string) sys.Errno { return j.move(from, to, 0, j.root.Rename) }

// Link implements sys.FS. A symbolic link gets no second name, for the same reason.
func (j *jail) Link(from, to string) sys.Errno { return j.move(from, to, nameCost, j.root.Link) }

func (j *jail) move(from, to string, cost int64, move func(from, to string) error) sys.Errno {
	a, errno := inside(from)
	b, errno2 := inside(to)
	if errno != 0 || errno2 != 0 {
		return max(errno, errno2)
	}
	return j.change(cost, func() error {
		if st, err := j.root.Lstat(a); err == nil && st.Mode()&fs.ModeSymlink != 0 {
			return fs.ErrPermission
		}
		return move(a, b)
	})
}

// Rmdir implements sys.FS.
func (j *jail) Rmdir(name string) sys.Errno { return j.remove(name, true) }

// Unlink implements sys.FS.
func (j *jail) Unlink(name string) sys.Errno { return j.remove(name, false) }

func (j *jail) remove(name string, dir bool) sys.Errno {
	st, errno := j.Lstat(name)
	switch {
	case errno != 0:
		return errno
	case dir && !st.Mode.IsDir():
		return sys.ENOTDIR
	case !dir && st.Mode.IsDir():
		return sys.EISDIR
	}
	p, _ := inside(name)
	return j.change(0, func() error { return j.root.Remove(p) })
}

// Symlink implements sys.FS. Guests make no symbolic links: one that is inside now can point outside after a rename.
func (j *jail) Symlink(string, string) sys.Errno { return sys.EPERM }

// Readlink implements sys.FS. Where a link that leads out points to is nobody's business.
func (j *jail) Readlink(name string) (string, sys.Errno) {
	p, errno := inside(name)
	if errno != 0 {
		return "", errno
	}
	defer j.enter()()
	target, err := j.root.Readlink(p)
	if err != nil {
		return "", j.errno(err)
	}
	if full := path.Join(path.Dir(p), target); path.IsAbs(target) || full == ".." || strings.HasPrefix(full, "../") {
		return "", sys.EPERM
	}
	if _, err := j.root.Stat(p); escapes(err) { // the folder that it is in may be known by a link, too
		return "", sys.EPERM
	}
	return target, 0
}

// Utimens implements sys.FS.
func (j *jail) Utimens(name string, atim, mtim int64) sys.Errno {
	p, errno := inside(name)
	if errno != 0 {
		return errno
	}
	at := func(ns int64) time.Time {
		if ns == sys.UTIME_OMIT {
			return time.Time{} // leaves it as it is
		}
		return time.Unix(0, ns)
	}
	return j.change(0, func() error { return j.root.Chtimes(p, at(atim), at(mtim)) })
}

// escapes reports whether an error of os.Root says that a path leads out. That is known by its text alone.
func escapes(err error) bool {
	return err != nil && strings.Contains(err.Error(), "escapes from parent")
}
