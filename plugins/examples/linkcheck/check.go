package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Options are the job's data.
type Options struct {
	Root       string   `json:"root"`         // folder that is checked
	FailOnDead bool     `json:"fail_on_dead"` // whether a dead link is a failure of the run
	Ignore     []string `json:"ignore"`       // patterns of targets that are not checked, as of path.Match
}

// ReadOptions reads the data. The error says what is wrong with it.
func ReadOptions(data []byte) (Options, error) {
	var o Options
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&o); err != nil {
		return o, fmt.Errorf("the data is no JSON of the right form: %w", err)
	}
	if o.Root == "" {
		return o, errors.New("root is missing; want the path of a folder, such as /docs")
	}
	for _, p := range o.Ignore {
		if _, err := path.Match(p, ""); err != nil {
			return o, fmt.Errorf("ignore has %q, which is no pattern: %w", p, err)
		}
	}
	return o, nil
}

const (
	maxListed = 200     // dead links that are listed; all are counted
	maxPage   = 4 << 20 // bytes of a page
)

// Result is what came of a folder.
type Result struct {
	Pages     int    `json:"pages"`
	Links     int    `json:"links"`    // all, external ones included
	External  int    `json:"external"` // links with a scheme; nobody looks where they lead
	DeadCount int    `json:"dead_count"`
	Dead      []Dead `json:"dead"`
}

// Dead is a link that leads nowhere.
type Dead struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Link string `json:"link"`
	Why  string `json:"why"`
}

// String says the result in one line.
func (r Result) String() string {
	return fmt.Sprintf("%d of %d links in %d pages are dead", r.DeadCount, r.Links, r.Pages)
}

// Check reads every page below the root of fsys, which are the files that end in .md, and follows their links. Hidden
// folders are left out. Targets that match a pattern of ignore are counted and not followed.
func Check(fsys fs.FS, ignore []string) (Result, error) {
	pages := map[string]Page{}
	err := fs.WalkDir(fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular() || path.Ext(name) != ".md":
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxPage {
			return fmt.Errorf("%s has %d bytes; a page may have %d", name, info.Size(), maxPage)
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		pages[name] = Parse(string(text))
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	r := Result{Pages: len(pages), Dead: []Dead{}}
	for _, name := range slices.Sorted(maps.Keys(pages)) {
		for _, l := range pages[name].Links {
			r.Links++
			if external(l.Target) {
				r.External++
				continue
			}
			why := l.Broken
			if why == "" && !ignored(l.Target, ignore) {
				why = follow(fsys, pages, name, l.Target)
			}
			if why == "" {
				continue
			}
			if r.DeadCount++; len(r.Dead) < maxListed {
				r.Dead = append(r.Dead, Dead{name, l.Line, l.Target, why})
			}
		}
	}
	return r, nil
}

var scheme = regexp.MustCompile(`^(?i:[a-z][a-z0-9+.-]*:|//)`)

func external(target string) bool { return scheme.MatchString(target) }

func ignored(target string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, target)
		return ok && err == nil
	})
}

// follow returns why a link on a page leads nowhere, or nothing.
func follow(fsys fs.FS, pages map[string]Page, from, target string) string {
	u, err := url.Parse(target)
	if err != nil {
		return "cannot be read as a link"
	}
	to := from
	switch {
	case strings.HasPrefix(u.Path, "/"):
		to = path.Clean(u.Path[1:])
	case u.Path != "":
		to = path.Join(path.Dir(from), u.Path)
	}
	if !fs.ValidPath(to) {
		return "leads out of the folder"
	}
	if _, err := fs.Stat(fsys, to); err != nil {
		return "there is no " + to
	}
	page, ok := pages[to]
	if u.Fragment == "" || !ok {
		return ""
	}
	if !page.Anchors[u.Fragment] {
		return fmt.Sprintf("%s has no heading or anchor %q", to, u.Fragment)
	}
	return ""
}
