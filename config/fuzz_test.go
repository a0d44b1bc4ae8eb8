package config

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
)

// Whatever the file and the variable hold, loading ends, gives the same answer twice, and answers with settings that
// hold what they promise or with problems of one line each.
func FuzzLoad(f *testing.F) {
	f.Add("", "JOBHOST__DATA_DIR=x")
	f.Add("jobs: [{name: a, plugin: p, schedule: every 1m, data: {a: [1, 0x1F, .5], b: *x}}]", "JOBHOST_SCHEDULER__POLL_INTERVAL=5s")
	paths, err := filepath.Glob("testdata/*/*.txtar")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range a.Files {
			if strings.HasSuffix(file.Name, ".yaml") {
				f.Add(string(file.Data), "")
			}
		}
	}
	f.Fuzz(func(t *testing.T, text, environ string) {
		src := Sources{Files: []File{{Name: "jobhost.yaml", Data: []byte(text)}}, Environ: []string{environ}}
		s, err := Load(src)
		again, errAgain := Load(src)
		if diff := cmp.Diff(err, errAgain, cmp.Comparer(sameText)); diff != "" {
			t.Fatalf("two answers:\n%s", diff)
		}
		if err != nil {
			checkProblems(t, err)
			return
		}
		if diff := cmp.Diff(s, again, sameCalendars); diff != "" {
			t.Fatalf("two answers:\n%s", diff)
		}
		names := map[string]bool{}
		for _, j := range s.Jobs {
			if err := j.Def.Check(); err != nil {
				t.Errorf("job %q: %v", j.Def.Name, err)
			}
			if names[j.Def.Name] {
				t.Errorf("two jobs %q", j.Def.Name)
			}
			names[j.Def.Name] = true
			if j.Fingerprint != j.Def.Fingerprint() || j.Pos.Line < 1 || j.Pos.Column < 1 {
				t.Errorf("job %q: fingerprint %s, place %v", j.Def.Name, j.Fingerprint, j.Pos)
			}
		}
		for _, c := range s.Calendars {
			c.IsExcluded(time.Unix(1_767_225_600, 0))
		}
		for _, g := range s.Grants {
			if g.Job == "" || g.Plugin == "" {
				t.Errorf("a grant at %v binds to job %q and plugin %q", g.Pos, g.Job, g.Plugin)
			}
		}
	})
}

func sameText(a, b error) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Error() == b.Error())
}

func checkProblems(t *testing.T, err error) {
	t.Helper()
	problems, ok := errors.AsType[Problems](err)
	if !ok || len(problems) == 0 || len(problems) > maxProblems+1 {
		t.Fatalf("%d problems: %v", len(problems), err)
	}
	for _, p := range problems {
		line := p.Error()
		if strings.IndexFunc(line, unicode.IsControl) >= 0 {
			t.Errorf("problem %q is no single line", line)
		}
		if p.Pos.File == "" && p != problems[maxProblems] {
			t.Errorf("problem %q has no place", line)
		}
	}
}
