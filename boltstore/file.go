package boltstore

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	bolt "go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"
)

// mapped is how much of a file is mapped into memory at least, so that a file that grows need not be mapped anew: that
// waits for every View that is open, and a backup can be open for long. Only addresses are taken, no memory.
const mapped int64 = 64 << 30

// reserve is what to map of a file at first. Windows would make the file that large, and small machines have no room.
func reserve() int {
	if runtime.GOOS == "windows" || strconv.IntSize < 64 {
		return 0
	}
	n := mapped
	return int(n)
}

var errInUse = errors.New("another jobhost uses it")

// InUse reports whether an error of [Open] or [Compact] says that another process has the file.
func InUse(err error) bool { return errors.Is(err, errInUse) }

// openFile opens and locks a bbolt file. Waiting for the lock may have meant waiting for a compaction: then the path
// leads to another file by now, and this one, which nobody will open again, must not be written.
func openFile(path string, o bolt.Options) (*bolt.DB, *os.File, error) {
	for range 5 {
		db, f, still, err := tryFile(path, o)
		if err != nil || still {
			return db, f, err
		}
		if err := db.Close(); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, errors.New("the path leads to another file each time it is opened")
}

// tryFile also reports whether the path still leads to the file that was opened, and that to the one that proved sound.
func tryFile(path string, o bolt.Options) (db *bolt.DB, f *os.File, still bool, err error) {
	checked, err := sound(path, o)
	if err != nil {
		return nil, nil, false, err
	}
	open := o.OpenFile
	if open == nil {
		open = os.OpenFile
	}
	o.OpenFile = func(name string, flag int, mode os.FileMode) (_ *os.File, err error) {
		f, err = open(name, flag, mode)
		return f, err
	}
	o.FreelistType, o.NoFreelistSync, o.PreLoadFreelist = bolt.FreelistMapType, true, true
	o.InitialMmapSize = reserve()
	db, err = bolt.Open(path, 0o600, &o)
	if errors.Is(err, syscall.ENOMEM) { // addresses are rationed
		o.InitialMmapSize = 0
		db, err = bolt.Open(path, 0o600, &o)
	}
	if errors.Is(err, bolterrors.ErrTimeout) {
		return nil, nil, false, errInUse
	}
	if err != nil {
		return nil, nil, false, err
	}
	opened, e1 := f.Stat()
	now, e2 := os.Stat(path) //nolint:gosec // the operator names the file
	if errors.Is(e2, fs.ErrNotExist) {
		return db, f, false, nil
	}
	if err := errors.Join(e1, e2); err != nil {
		return nil, nil, false, errors.Join(err, db.Close())
	}
	return db, f, os.SameFile(opened, now) && (checked == nil || os.SameFile(opened, checked)), nil
}

// realPath follows links, so that what replaces a file stands where the file stands.
func realPath(path string) (string, error) {
	target, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", err
	}
	return filepath.Abs(target)
}

// lockTimeout is how long Open waits for the lock where nothing else is said.
const lockTimeout = time.Second
