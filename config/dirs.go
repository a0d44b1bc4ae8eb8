package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// protected is a path that no grant may reach.
type protected struct {
	what string
	path string // absolute, without symbolic links
	dir  bool   // a directory: nothing inside it may be granted either
}

// guard refuses directories of grants that overlap jobhost's own: a guest that can write a plugin, the configuration
// or the store would not be confined at all, and one that can read the data directory has what is in it. Symbolic links
// are followed as they are now; what they become later is not seen.
func (s *Settings) guard(r *reader, src Sources) {
	own := []protected{
		{"the data directory " + s.DataDir, resolve(s.DataDir), true},
		{"the plugin directory " + s.Plugins.Dir, resolve(s.Plugins.Dir), true},
		{"the store " + s.Store.Path, resolve(s.Store.Path), false},
		{"the API's socket " + s.HTTP.Socket, resolve(s.HTTP.Socket), false},
	}
	for _, f := range src.Files {
		own = append(own, protected{"the configuration file " + f.Name, resolve(f.Name), false})
		if f.Dir != "" {
			own = append(own, protected{"the configuration directory " + f.Dir, resolve(f.Dir), true})
		}
	}
	for _, g := range s.Grants {
		for _, d := range g.Dirs {
			if d.Host == "" {
				continue
			}
			host := resolve(d.Host)
			for _, p := range own {
				if within(p.path, host) || p.dir && within(host, p.path) {
					r.problem(Problem{d.Pos, fmt.Sprintf("grants[%s].dirs", g.Job), fmt.Sprintf(
						"the directory %s overlaps %s; want one apart from it", quote(d.Host), p.what)})
					break
				}
			}
		}
	}
}

// resolve makes a path absolute and follows the symbolic links of the part of it that exists.
func resolve(path string) string {
	abs, err := filepath.Abs(path)
	if err != nil {
		return path
	}
	rest := ""
	for dir := abs; ; {
		if followed, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(followed, rest)
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return abs
		}
		rest = filepath.Join(filepath.Base(dir), rest)
		dir = parent
	}
}

// within reports whether path is dir or lies below it.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
