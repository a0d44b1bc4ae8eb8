package host

import (
	"errors"
	"io"
	"os"

	"github.com/tetratelabs/wazero/experimental/sys"
	wsys "github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost/abi"
)

// jailFile is a file or folder that a guest has open.
type jailFile struct {
	sys.UnimplementedFile
	j        *jail
	f        *os.File
	dir      bool
	appends  bool // opened so
	follows  bool // asked to append later, which the system cannot be told
	writable bool
	closed   bool
}

// Dev implements sys.File.
func (f *jailFile) Dev() (uint64, sys.Errno) {
	st, errno := f.Stat()
	return st.Dev, errno
}

// Ino implements sys.File.
func (f *jailFile) Ino() (wsys.Inode, sys.Errno) {
	st, errno := f.Stat()
	return st.Ino, errno
}

// IsDir implements sys.File.
func (f *jailFile) IsDir() (bool, sys.Errno) { return f.dir, 0 }

// IsAppend implements sys.File.
func (f *jailFile) IsAppend() bool { return f.appends || f.follows }

// SetAppend implements sys.File. A file that was opened to append cannot stop.
func (f *jailFile) SetAppend(on bool) sys.Errno {
	switch {
	case f.dir:
		return sys.EISDIR
	case f.appends && !on:
		return sys.ENOSYS
	}
	f.follows = on && !f.appends
	return 0
}

// Stat implements sys.File.
func (f *jailFile) Stat() (wsys.Stat_t, sys.Errno) {
	defer f.j.enter()()
	st, err := f.f.Stat()
	if err != nil {
		return wsys.Stat_t{}, f.j.errno(err)
	}
	return wsys.NewStat_t(st), 0
}

// Read implements sys.File.
func (f *jailFile) Read(b []byte) (int, sys.Errno) {
	return f.transfer(b, false, f.f.Read)
}

// Pread implements sys.File.
func (f *jailFile) Pread(b []byte, offset int64) (int, sys.Errno) {
	return f.transfer(b, false, func(b []byte) (int, error) { return f.f.ReadAt(b, offset) })
}

// Write implements sys.File.
func (f *jailFile) Write(b []byte) (int, sys.Errno) {
	return f.write(b, f.place, func(b []byte) (int, error) {
		if f.follows {
			if _, err := f.f.Seek(0, io.SeekEnd); err != nil {
				return 0, err
			}
		}
		return f.f.Write(b)
	})
}

// place is where the next write goes; the beginning stands for the end, where there never is a gap.
func (f *jailFile) place() (int64, error) {
	if f.IsAppend() {
		return 0, nil
	}
	return f.f.Seek(0, io.SeekCurrent)
}

// Pwrite implements sys.File. In a file that was opened to append it appends, as Linux does.
func (f *jailFile) Pwrite(b []byte, offset int64) (int, sys.Errno) {
	if f.appends {
		return f.Write(b)
	}
	place := func() (int64, error) { return offset, nil }
	return f.write(b, place, func(b []byte) (int, error) { return f.f.WriteAt(b, offset) })
}

// transfer reads or writes at most abi.MaxChunk bytes, so that no single call takes long.
func (f *jailFile) transfer(b []byte, write bool, do func([]byte) (int, error)) (int, sys.Errno) {
	switch {
	case f.dir:
		return 0, sys.EISDIR
	case write && !f.writable:
		return 0, sys.EBADF
	}
	defer f.j.enter()()
	n, err := do(b[:min(len(b), abi.MaxChunk)])
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return n, f.j.errno(err)
}

// position is int64 by another name: go vet takes any Seek of an int64 for io.Seeker's and wants its error.
type position = int64

// Seek implements sys.File. A folder can only be rewound.
func (f *jailFile) Seek(offset position, whence int) (int64, sys.Errno) {
	switch {
	case f.dir && (offset != 0 || whence != io.SeekStart):
		return 0, sys.EISDIR
	case whence < io.SeekStart || whence > io.SeekEnd:
		return 0, sys.EINVAL
	}
	defer f.j.enter()()
	n, err := f.f.Seek(offset, whence)
	return n, f.j.errno(err)
}

// readdirBatch is how many entries are read between two checks for the run's end.
const readdirBatch = 256

// Readdir implements sys.File. It returns fewer than n entries only at the folder's end, since wazero takes it for that.
func (f *jailFile) Readdir(n int) ([]sys.Dirent, sys.Errno) {
	if !f.dir {
		return nil, sys.ENOTDIR
	}
	var all []sys.Dirent
	for n < 0 || len(all) < n {
		batch := readdirBatch
		if n >= 0 {
			batch = min(batch, n-len(all))
		}
		entries, errno := f.readdir(batch)
		all = append(all, entries...)
		if errno != 0 {
			return nil, errno
		}
		if len(entries) == 0 {
			break
		}
		f.j.r.pause()
	}
	return all, 0
}

func (f *jailFile) readdir(n int) ([]sys.Dirent, sys.Errno) {
	defer f.j.enter()()
	entries, err := f.f.ReadDir(n)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.j.errno(err)
	}
	out := make([]sys.Dirent, len(entries))
	for i, e := range entries {
		out[i] = sys.Dirent{Name: e.Name(), Type: e.Type()}
		if st, err := e.Info(); err == nil { // of a folder that was opened in a root, it was read with the entry
			out[i].Ino = wsys.NewStat_t(st).Ino
		}
	}
	return out, 0
}

// Truncate implements sys.File.
func (f *jailFile) Truncate(size int64) sys.Errno {
	switch {
	case f.dir:
		return sys.EISDIR
	case !f.writable:
		return sys.EBADF
	case size < 0:
		return sys.EINVAL
	}
	defer f.j.enter()()
	st, err := f.f.Stat()
	if err != nil {
		return f.j.errno(err)
	}
	return f.j.errno(f.j.pay(max(0, size-st.Size()), func() error { return f.f.Truncate(size) }))
}

// Sync implements sys.File.
func (f *jailFile) Sync() sys.Errno {
	defer f.j.enter()()
	return f.j.errno(f.f.Sync())
}

// Datasync implements sys.File.
func (f *jailFile) Datasync() sys.Errno { return f.Sync() }

// Close implements sys.File. It may be called twice, and after the run's end.
func (f *jailFile) Close() sys.Errno {
	if f.closed {
		return 0
	}
	f.closed = true
	delete(f.j.open, f)
	f.j.r.files--
	return f.j.errno(f.f.Close())
}
