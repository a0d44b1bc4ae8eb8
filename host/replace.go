package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ownerOnly is the mode of the host's own files.
const ownerOnly = 0o600

// replaceFile puts a file in place of another at once: whoever reads it finds all of the old one or of the new. Durably, that
// holds after a power failure too.
func replaceFile(file string, data []byte, mode fs.FileMode, durably bool) error {
	dir := filepath.Dir(file)
	tmp, err := os.CreateTemp(dir, ".*.tmp")
	if err != nil {
		return err
	}
	_, err = tmp.Write(data)
	if err == nil && mode != ownerOnly {
		err = tmp.Chmod(mode)
	}
	if err == nil && durably {
		err = tmp.Sync()
	}
	err = errors.Join(err, tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		return errors.Join(err, os.Remove(tmp.Name()))
	}
	if !durably {
		return nil
	}
	return syncFolder(dir)
}

// syncFolder makes the names in a folder durable, where a folder can be opened for that.
func syncFolder(dir string) error {
	if !checksModes {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
