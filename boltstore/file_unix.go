//go:build unix

package boltstore

import (
	"errors"
	"os"
	"syscall"
)

// keepOwner gives a new file the mode and the owner of the one that it is to replace.
func keepOwner(path string, old os.FileInfo) error {
	if err := os.Chmod(path, old.Mode().Perm()); err != nil {
		return err
	}
	fresh, err := os.Stat(path)
	if err != nil {
		return err
	}
	was, ok1 := old.Sys().(*syscall.Stat_t)
	is, ok2 := fresh.Sys().(*syscall.Stat_t)
	if !ok1 || !ok2 || was.Uid == is.Uid && was.Gid == is.Gid {
		return nil
	}
	return os.Chown(path, int(was.Uid), int(was.Gid))
}

// syncDir brings the names in a folder to the disk.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
