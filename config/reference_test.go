package config

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// golden compares text with a file, or with -update writes the file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, string(want)); diff != "" {
		t.Errorf("%s is not up to date; if the change is meant, run go test ./config -update (-got +want):\n%s", path, diff)
	}
}

func TestReferenceIsInTheDocumentation(t *testing.T) {
	golden(t, "../docs/config.md", Reference())
	golden(t, "../docs/manifest.md", ManifestReference())
}

func TestReferenceNamesEveryKey(t *testing.T) {
	text := Reference()
	for _, r := range topKeys().list("") {
		mapping, key := "At the top", r.path
		if i := strings.LastIndexByte(r.path, '.'); i >= 0 {
			mapping, key = "`"+r.path[:i]+"`", r.path[i+1:]
		}
		_, table, _ := strings.Cut(text, "\n## "+mapping+"\n")
		table, _, _ = strings.Cut(table, "\n## ")
		heading := strings.Contains(text, "\n## `"+r.path+"`\n") || strings.Contains(text, "\n## `"+r.path+"[]`\n")
		refused := r.later && strings.Contains(text, "| `"+r.path+"` |")
		if !strings.Contains(table, "| `"+key+"` |") && !heading && !refused {
			t.Errorf("%s is not in the reference", r.path)
		}
		if r.help == "" {
			t.Errorf("%s has no meaning", r.path)
		}
	}
}
