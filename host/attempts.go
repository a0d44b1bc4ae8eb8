package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// A module that takes the process down while it is compiled would do so again at each start. So a file marks each
// attempt while it lasts. One that is left says that the process died meanwhile: once may be a coincidence, such as a
// power failure, so it takes two of them to refuse a module. Until it is known to be good again it is compiled while
// no other large or marked one is, so that marks of others which were being compiled at the same time go away.

// attemptMark is how the names of the marks end.
const attemptMark = ".compiling"

// maxDeaths is how many deaths make a module one that is not compiled any more.
const maxDeaths = 2

func (c *cache) marks(digest string) []string {
	files, _ := filepath.Glob(filepath.Join(c.dir, digest+".*"+attemptMark)) // it fails only for a malformed pattern
	return files
}

// deaths counts how often the process died while it compiled a module. Twice is an error.
func (c *cache) deaths(digest string) (n int, err error) {
	if c.dir == "" {
		return 0, nil
	}
	for _, file := range c.marks(digest) {
		if !attemptLasts(file) {
			n++
		}
	}
	if n >= maxDeaths {
		return n, fmt.Errorf("the host died %d times while it was being compiled, so it is not tried again; to try again, delete %s",
			n, filepath.Join(c.dir, digest+".*"+attemptMark))
	}
	return n, nil
}

// begin marks an attempt. What it returns ends the attempt, and forgets earlier ones.
func (c *cache) begin(ctx context.Context, digest string) (done func()) {
	if c.dir == "" {
		return func() {}
	}
	f, err := os.CreateTemp(c.dir, digest+".*"+attemptMark)
	if err != nil {
		c.cannotWrite(ctx, c.dir, err)
		return func() {}
	}
	err = lockAttempt(f)
	c.mu.Lock()
	c.attempts[f] = true
	c.mu.Unlock()
	if err != nil {
		c.cannotWrite(ctx, c.dir, err)
	}
	return func() {
		c.end(ctx, f)
		for _, file := range c.marks(digest) {
			if !attemptLasts(file) {
				_ = os.Remove(file) // if it stays, the module is tried again more carefully than it needs
			}
		}
	}
}

// end removes the mark of an attempt of ours, unless that has been done.
func (c *cache) end(ctx context.Context, f *os.File) {
	c.mu.Lock()
	lasts := c.attempts[f]
	delete(c.attempts, f)
	c.mu.Unlock()
	if !lasts {
		return
	}
	err := errors.Join(f.Close(), os.Remove(f.Name()))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.cannotWrite(ctx, c.dir, err)
	}
}

// forgive removes the marks of all attempts that are going on: the process is about to end, and not because of them.
func (c *cache) forgive(ctx context.Context) {
	c.mu.Lock()
	files := make([]*os.File, 0, len(c.attempts))
	for f := range c.attempts {
		files = append(files, f)
	}
	c.mu.Unlock()
	for _, f := range files {
		c.end(ctx, f)
	}
}
