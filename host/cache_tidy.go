package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"
)

// removeOldVersions removes what other versions left behind and have not touched for long.
func removeOldVersions(dir, ours string) {
	others, err := filepath.Glob(filepath.Join(dir, "plugins-*"))
	if err != nil {
		return // only for a malformed pattern
	}
	for _, d := range others {
		if st, err := os.Stat(d); err == nil && d != ours && time.Since(st.ModTime()) > cacheAge {
			_ = os.RemoveAll(d) // tidying up; it costs room at most
		}
	}
}

// removeUnfinished removes what was being written when a process died, and marks of attempts that are long ago.
func (c *cache) removeUnfinished() {
	for pattern, age := range map[string]time.Duration{
		".*.tmp": time.Hour, "*/*.tmp": time.Hour, // ours, and wazero's
		"*" + attemptMark: cacheAge,
	} {
		files, err := filepath.Glob(filepath.Join(c.dir, pattern))
		if err != nil {
			return // only for a malformed pattern
		}
		for _, f := range files {
			if st, err := os.Stat(f); err == nil && time.Since(st.ModTime()) > age {
				_ = os.Remove(f) // tidying up; it costs room at most
			}
		}
	}
}

// cacheFile matches what wazero and we keep: the hexadecimal name of a digest.
var cacheFile = regexp.MustCompile(`^[0-9a-f]{64}(\.wasm)?$`)

// files lists the files in the cache.
func (c *cache) files() (list []string, err error) {
	err = filepath.WalkDir(c.dir, func(file string, d fs.DirEntry, err error) error {
		if err == nil && cacheFile.MatchString(d.Name()) && d.Type().IsRegular() {
			list = append(list, file)
		}
		return nil // what cannot be read is not used either
	})
	return list, err
}

// inspect removes the files that are old, and compiled code that is damaged or has no checksum; instrumented modules are
// looked at when they are used. An error means that such a file is still there.
func (c *cache) inspect() error {
	files, err := c.files()
	if err != nil {
		return err
	}
	var (
		errs    = make([]error, len(files))
		workers sync.WaitGroup
		next    = make(chan int)
	)
	for range runtime.NumCPU() {
		workers.Go(func() {
			for i := range next {
				if !c.sound(files[i]) {
					errs[i] = c.remove(files[i])
				}
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	workers.Wait()
	return errors.Join(errs...)
}

func (c *cache) sound(file string) bool {
	st, err := os.Stat(file)
	if err != nil || time.Since(st.ModTime()) > cacheAge {
		return false
	}
	if filepath.Ext(file) == extension {
		return true
	}
	data, err := os.ReadFile(file)
	return err == nil && intact(file, data)
}

// clear removes all files.
func (c *cache) clear() error {
	files, err := c.files()
	for _, file := range files {
		err = errors.Join(err, c.remove(file))
	}
	return err
}

func (c *cache) remove(file string) error {
	c.mu.Lock()
	delete(c.sealed, file)
	c.mu.Unlock()
	_ = os.Remove(file + checksum) // it means nothing without the file
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// sealNew gives a checksum to the files that have none yet: those that wazero has just written for the module of a digest. Of
// two that were compiled at the same time one may get the other's too; then that one is compiled again some day.
func (c *cache) sealNew(ctx context.Context, digest string) {
	if c.dir == "" {
		return
	}
	var written []string
	files, err := c.files()
	for _, file := range files {
		c.mu.Lock()
		known := c.sealed[file]
		c.sealed[file] = true
		c.mu.Unlock()
		if known {
			continue
		}
		if _, err2 := os.Stat(file + checksum); !errors.Is(err2, fs.ErrNotExist) {
			continue
		}
		data, err2 := os.ReadFile(file)
		if err2 == nil {
			err2 = seal(file, data)
			written = append(written, file)
		}
		err = errors.Join(err, err2)
	}
	if err = errors.Join(err, c.used(digest, written)); err != nil {
		c.cannotWrite(ctx, c.dir, err)
	}
}
