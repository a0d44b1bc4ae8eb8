package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReadFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	single := write("jobhost.yaml", "# single")
	conf := filepath.Dir(write("conf.d/20-b.yml", "# b"))
	for _, name := range []string{"conf.d/10-a.yaml", "conf.d/.hidden.yaml", "conf.d/notes.txt", "conf.d/deep/c.yaml", "conf.d/odd.yaml/d.yaml", "empty/x.txt"} {
		write(name, "# "+filepath.Base(name))
	}
	t.Run("a directory stands for its files, and what is named twice is read once", func(t *testing.T) {
		got, err := ReadFiles(single, conf, filepath.Join(dir, "empty"), filepath.Join(dir, "conf.d", "..", "jobhost.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		want := []File{
			{single, []byte("# single"), ""},
			{filepath.Join(conf, "10-a.yaml"), []byte("# 10-a.yaml"), conf},
			{filepath.Join(conf, "20-b.yml"), []byte("# b"), conf},
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Errorf("-got +want:\n%s", diff)
		}
	})
	t.Run("each path that cannot be read is a problem", func(t *testing.T) {
		big := write("big.yaml", strings.Repeat("#", MaxFile+1))
		gone := filepath.Join(dir, "gone.yaml")
		_, err := ReadFiles(gone, single, big, os.DevNull)
		want := strings.Join([]string{
			gone + ": cannot read the configuration file: no such file or directory",
			big + ": cannot read the configuration file: it has more than 4 MiB; split it",
			os.DevNull + ": cannot read the configuration file: it is not a regular file",
		}, "\n")
		if err == nil || err.Error() != want {
			t.Errorf("-got +want:\n%s", cmp.Diff(fmt.Sprint(err), want))
		}
	})
	t.Run("all files together are bounded", func(t *testing.T) {
		var paths []string
		for i := range 5 {
			paths = append(paths, write(fmt.Sprintf("large%d.yaml", i), strings.Repeat("#", MaxFile)))
		}
		if _, err := ReadFiles(paths...); err == nil || !strings.HasSuffix(err.Error(), "with it the files have more than 16 MiB together") {
			t.Errorf("error %v, want one about the files together", err)
		}
	})
}
