package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxIdle is how many bytes the cache keeps of modules that nothing uses, those first that were used last.
const maxIdle = 256 << 20

// pruning is what the cache knows about its being too large.
type pruning struct {
	sync.Mutex

	idle int64 // bytes that are kept of modules that nothing uses
	done bool  // nothing was written since the cache was pruned
}

// codeList is how the names of the files end that name the compiled code of a module, a file on each line. The names that
// wazero gives to code say nothing about the module.
const codeList = ".code"

// codeOf lists the files of a module's compiled code.
func (c *cache) codeOf(digest string) (files []string) {
	data, err := os.ReadFile(filepath.Join(c.dir, digest+codeList))
	if err != nil {
		return nil // it was kept by an earlier version, or its code is not known
	}
	for name := range strings.Lines(string(data)) {
		if name = strings.TrimSuffix(name, "\n"); filepath.IsLocal(name) && cacheFile.MatchString(filepath.Base(name)) {
			files = append(files, filepath.Join(c.dir, name))
		}
	}
	return files
}

// used notes that a module is used, and which files were written for it.
func (c *cache) used(digest string, written []string) error {
	if c.dir == "" {
		return nil
	}
	files := c.codeOf(digest)
	if len(written) > 0 {
		var list strings.Builder
		files = append(files, written...)
		slices.Sort(files)
		files = slices.Compact(files)
		for _, f := range files {
			if name, err := filepath.Rel(c.dir, f); err == nil {
				list.WriteString(name + "\n")
			}
		}
		if err := os.WriteFile(filepath.Join(c.dir, digest+codeList), []byte(list.String()), 0o600); err != nil {
			return err
		}
		c.pruning.Lock()
		c.pruning.done = false
		c.pruning.Unlock()
	}
	c.touch(digest, files)
	return nil
}

// touch makes a module's files as young as if they had just been written.
func (c *cache) touch(digest string, code []string) {
	now := time.Now()
	for _, f := range append([]string{filepath.Join(c.dir, digest+extension)}, code...) {
		_ = os.Chtimes(f, now, now) // one that is gone is made again when it is used
	}
}

// idleModule is what the cache has of a module that nothing uses, or code that belongs to no module.
type idleModule struct {
	files []string
	used  time.Time
	size  int64
}

func (m *idleModule) add(file string) {
	st, err := os.Stat(file)
	if err != nil {
		return
	}
	m.files = append(m.files, file)
	m.size += st.Size()
	if st.ModTime().After(m.used) {
		m.used = st.ModTime()
	}
}

// prune removes what is kept of modules that are not in use beyond the bytes that are kept of them, those first that were
// used the longest time ago. Without new code since the last time there is nothing to do.
func (c *cache) prune(inUse map[string]bool) error {
	c.pruning.Lock()
	defer c.pruning.Unlock()
	if c.dir == "" || c.pruning.done {
		return nil
	}
	all, err := c.files()
	if err != nil {
		return err
	}
	owned := map[string]bool{}
	var digests []string
	for _, f := range all {
		if digest, ok := strings.CutSuffix(filepath.Base(f), extension); ok {
			digests = append(digests, digest)
		}
	}
	for digest := range inUse {
		code := c.codeOf(digest)
		c.touch(digest, code)
		owned[filepath.Join(c.dir, digest+extension)] = true
		for _, f := range code {
			owned[f] = true
		}
	}
	var idle []idleModule
	for _, digest := range digests {
		if inUse[digest] {
			continue
		}
		var m idleModule
		for _, f := range append(c.codeOf(digest), filepath.Join(c.dir, digest+extension)) {
			if !owned[f] {
				owned[f] = true
				m.add(f)
			}
		}
		idle = append(idle, m)
	}
	for _, f := range all {
		if !owned[f] {
			var m idleModule
			m.add(f)
			idle = append(idle, m)
		}
	}
	c.pruning.done = true
	return c.removeIdle(idle)
}

func (c *cache) removeIdle(idle []idleModule) error {
	slices.SortFunc(idle, func(a, b idleModule) int { return b.used.Compare(a.used) })
	var total int64
	for _, m := range idle {
		if total += m.size; total <= c.pruning.idle {
			continue
		}
		for _, f := range m.files {
			if err := c.remove(f); err != nil {
				return err
			}
			if list, ok := strings.CutSuffix(f, extension); ok {
				_ = os.Remove(list + codeList) // it names nothing any more
			}
		}
	}
	return nil
}

// pruneCache removes from the cache what is too much, once it is known which modules are in use: those of the plugins, of runs
// that are going on, and of the versions that are kept.
func (h *Host) pruneCache() {
	h.mu.RLock()
	settled := !h.closed
	for _, p := range h.plugins {
		if p.active == nil && p.problem == "" {
			settled = false
		}
	}
	h.mu.RUnlock()
	if !settled {
		return
	}
	inUse := h.shelf.digests()
	h.modules.mu.Lock()
	for digest := range h.modules.byDigest {
		inUse[digest] = true
	}
	h.modules.mu.Unlock()
	if err := h.cache.prune(inUse); err != nil {
		h.cache.cannotWrite(h.ctx, h.cache.dir, err)
	}
}

// digests are those of the modules that are kept.
func (s *shelf) digests() map[string]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := map[string]bool{}
	for _, kept := range s.index {
		for _, digest := range kept {
			all[digest] = true
		}
	}
	return all
}
