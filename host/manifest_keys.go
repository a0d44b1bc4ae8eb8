package host

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/jobhost/jobhost"
)

// keys says which file of the plugin folder may have which key. What is granted to a plugin is granted to its key, so that a
// file must not come by the key of another one just because that is gone for a moment, as it is while it is replaced. Its
// fields are guarded by Host.mu.
type keys struct {
	files map[jobhost.Name]string // of the plugin folder, by the key that their names say
	had   map[jobhost.Name]string // files that have had a key, of the last one; contested: several have claimed it
}

const (
	contested = "" // instead of a file
	mostHad   = 10_000
)

// claim is what a file that is new in the plugin folder would be called.
type claim struct {
	file string
	key  jobhost.Name // that its manifest says, as far as it can be read; else that of its name
}

// named is the key that the name of a module's file says.
func named(file string) jobhost.Name { return strings.TrimSuffix(filepath.Base(file), extension) }

// claims reads what the files that are new in the plugin folder would be called, and notes which keys there are.
func (h *Host) claims(files []string) (claims []claim) {
	h.mu.Lock()
	h.keys.files = make(map[jobhost.Name]string, len(files))
	if h.keys.had == nil {
		h.keys.had = map[jobhost.Name]string{}
	}
	known := make(map[string]bool, len(h.plugins))
	for _, p := range h.plugins {
		known[p.file] = p.private
	}
	for _, file := range files {
		h.keys.files[named(file)] = file
		h.keys.note(named(file), file)
	}
	h.mu.Unlock()

	rivals := map[jobhost.Name]int{}
	for _, file := range files {
		if known[file] {
			continue
		}
		c := claim{file, named(file)}
		if m, err := h.understand(readManifest(file, true)); err == nil {
			c.key = m.Key
		}
		rivals[c.key]++
		claims = append(claims, c)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for key, n := range rivals {
		if _, taken := h.keys.had[key]; n > 1 && !taken && h.plugins[key] == nil {
			h.keys.note(key, contested)
		}
	}
	return claims
}

// note remembers the file that has a key.
func (k *keys) note(key jobhost.Name, file string) {
	if _, ok := k.had[key]; ok || len(k.had) < mostHad {
		k.had[key] = file
	}
}

// refuse says why a file may not have a key; nil: it may, unless a plugin has it. A file may have the key that its name says.
// Another key it may have if no file is named after it and no other file has had it since the host began.
func (k *keys) refuse(key jobhost.Name, file string) error {
	if named(file) == key {
		return nil
	}
	if other, ok := k.files[key]; ok {
		return taken(key, file, other)
	}
	switch other, had := k.had[key]; {
	case had && other == file:
		return nil
	case had && other == contested:
		return fmt.Errorf("%s: its key %q is claimed by another file, too; rename the right one to %s%s", file, key, key, extension)
	case had:
		return fmt.Errorf("%s: its key %q was that of the plugin in %s, and goes to no other file until the host is started again; rename the file to %s%s, or start the host again",
			file, key, other, key, extension)
	case len(k.had) >= mostHad:
		return fmt.Errorf("%s: its key %q cannot be given, since there have been more than %d keys; rename the file to %s%s, or start the host again",
			file, key, mostHad, key, extension)
	}
	return nil
}

func taken(key jobhost.Name, file, other string) error {
	return fmt.Errorf("%s: its key %q is that of the plugin in %s already; give one of them another key", file, key, other)
}

// pluginOf is the plugin of a module's file in the plugin folder. A new one goes by the key that it claims, as far as that is
// free; whether it may have it is decided again when it is loaded. Nil: the key is that of a plugin which was loaded by itself.
func (h *Host) pluginOf(ctx context.Context, c claim) *plugin {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p := h.byFile(c.file); p != nil {
		return p
	}
	for _, key := range []jobhost.Name{c.key, named(c.file), filepath.Base(c.file)} {
		if h.keys.refuse(key, c.file) != nil {
			continue
		}
		h.displace(ctx, key, c.file)
		switch other := h.plugins[key]; {
		case other == nil:
			p := &plugin{key: key, file: c.file, private: true}
			h.plugins[key] = p
			return p
		case !other.private:
			return nil
		}
	}
	return nil // three files that all go by the names of others; one of those is refused, and looked at again
}

// byFile finds a plugin of the plugin folder. The caller holds mu.
func (h *Host) byFile(file string) *plugin {
	for _, p := range h.plugins {
		if p.private && p.file == file {
			return p
		}
	}
	return nil
}

// displace takes a key away from a plugin that only claims it, for the file that is named after it. The caller holds mu.
func (h *Host) displace(ctx context.Context, key jobhost.Name, file string) {
	p := h.plugins[key]
	if p == nil || !p.private || named(file) != key || named(p.file) == key {
		return
	}
	delete(h.plugins, key)
	if p.active != nil {
		h.modules.put(ctx, p.active)
	}
	p.active, p.manifest, p.text = nil, jobhost.Manifest{}, jobhost.ManifestText{}
	p.clash, p.problem = key, taken(key, p.file, file).Error()
	for _, key := range []jobhost.Name{named(p.file), filepath.Base(p.file)} {
		if h.plugins[key] == nil {
			p.key = key
			h.plugins[key] = p
			return
		}
	}
}

// rekey gives a plugin the key that its manifest says. It is an error if it may not have it; then the plugin is looked at again
// once it may. The caller holds mu.
func (h *Host) rekey(ctx context.Context, p *plugin, key jobhost.Name) error {
	p.clash = ""
	if !p.private {
		return nil // whoever loaded it chose the key
	}
	h.displace(ctx, key, p.file)
	err := h.keys.refuse(key, p.file)
	if other := h.plugins[key]; other != nil && other != p {
		err = taken(key, p.file, other.file)
	}
	if err != nil {
		p.clash = key
		return err
	}
	delete(h.plugins, p.key)
	p.key = key
	h.plugins[key] = p
	h.keys.note(key, p.file)
	return nil
}

// freed reports whether a plugin may now have the key that was refused to it. The caller holds mu.
func (h *Host) freed(p *plugin) bool {
	return p.clash != "" && h.plugins[p.clash] == nil && h.keys.refuse(p.clash, p.file) == nil
}
