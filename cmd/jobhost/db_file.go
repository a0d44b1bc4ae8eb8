package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
)

func forceFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("force", false, "replace a file that is there already")
}

// newFile is a file that is there as a whole or not at all. Until it is finished it has another name.
type newFile struct {
	*os.File

	path  string
	force bool // it may replace another one
}

// create begins a file, for its owner only. The caller calls discard at the end, also when the file is finished.
func create(path string, force bool) (*newFile, error) {
	n := &newFile{path: path, force: force}
	if err := n.free(); err != nil {
		return nil, err
	}
	var err error
	n.File, err = os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*.partial")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the folder %s is not there; make it, or name another file", filepath.Dir(path))
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// free reports what is in the way of the file.
func (n *newFile) free() error {
	switch info, err := os.Lstat(n.path); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return exit{exitConflict, fmt.Errorf("%s is there already and is no plain file", n.path)}
	case !n.force:
		return exit{exitConflict, fmt.Errorf("%s is there already; --force replaces it", n.path)}
	}
	return nil
}

// finish brings the file to the disk, and gives it its name if it passes the check.
func (n *newFile) finish(check func(path string) error) error {
	if err := errors.Join(n.Sync(), n.Close()); err != nil {
		return err
	}
	if err := check(n.Name()); err != nil {
		return err
	}
	// A link is sure to replace nothing, but not every file system has links.
	if n.force || os.Link(n.Name(), n.path) != nil {
		if err := n.free(); err != nil {
			return err
		}
		if err := os.Rename(n.Name(), n.path); err != nil {
			return err
		}
	}
	if dir, err := os.Open(filepath.Dir(n.path)); err == nil {
		_ = dir.Sync()  // not every system can
		_ = dir.Close() // it was read only
	}
	return nil
}

// discard removes what has not become the file.
func (n *newFile) discard() {
	_ = n.Close()           // mostly it is closed
	_ = os.Remove(n.Name()) // mostly it is not there
}

// meter tells on standard error how far a long work is.
type meter struct {
	c    *cli
	what string
	said time.Time
	done int64
}

// sayEvery is how often it does.
const sayEvery = 2 * time.Second

func (c *cli) meter(what string) *meter { return &meter{c: c, what: what, said: time.Now()} }

// at is told how far the work is, and of how much if that is known.
func (m *meter) at(done, total int64) {
	m.done = done
	now := time.Now()
	if now.Sub(m.said) < sayEvery {
		return
	}
	m.said = now
	of := ""
	if total > 0 {
		of = " of about " + sizeText(total)
	}
	m.c.say("%s: %s%s", m.what, sizeText(done), of)
}

// writer counts what is written to w.
func (m *meter) writer(w io.Writer) io.Writer { return metered{m, w} }

type metered struct {
	m *meter
	w io.Writer
}

// Write implements [io.Writer].
func (w metered) Write(p []byte) (int, error) {
	n, err := w.w.Write(p)
	w.m.at(w.m.done+int64(n), 0)
	return n, err
}
