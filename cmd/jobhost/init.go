package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
)

// firstConfig is the file that init writes.
//
//go:embed init.yaml
var firstConfig []byte

func (c *cli) init() *cobra.Command {
	return &cobra.Command{
		Use: "init [folder]", Annotations: alsoExits("4 something is there already"), Short: "Write a first jobhost.yaml, with comments", Args: takes(0, 1, "one folder at most"),
		Long: `Write a first jobhost.yaml, with comments, and make the folders that it names, in the current folder or another one. What is
there already stays as it is; a jobhost.yaml that is there is an error.`,
		Example: `  jobhost init
  jobhost init /srv/jobs`,
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			return c.makeFirst(dir)
		},
	}
}

func (c *cli) makeFirst(dir string) error {
	for _, d := range []struct {
		path string
		mode os.FileMode
	}{{dir, 0o750}, {filepath.Join(dir, "plugins"), 0o750}, {filepath.Join(dir, ".jobhost"), 0o700}} {
		if err := makeFolder(d.path, d.mode); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, defaultConfig)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return exit{exitConflict, fmt.Errorf("%s is there already, and stays as it is", path)}
	}
	if err != nil {
		return exit{exitFailed, err}
	}
	_, err = f.Write(firstConfig)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	c.say("%s is written; put a module into %s and name it there, then:", path, filepath.Join(dir, "plugins"))
	where := ""
	if dir != "." {
		where = "cd " + dir + " && "
	}
	_, err = fmt.Fprintf(c.out, "%sjobhost validate\n%sjobhost serve\n", where, where)
	return err
}

// makeFolder makes a folder and those above it. What is there and is none is said by its own name.
func makeFolder(dir string, mode os.FileMode) error {
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		if info, err := os.Stat(at); err == nil && !info.IsDir() {
			return exit{exitConflict, fmt.Errorf("%s is there already and is no folder; name another one", at)}
		}
		if at == filepath.Dir(at) {
			break
		}
	}
	if err := os.MkdirAll(dir, mode); err != nil {
		return exit{exitFailed, err}
	}
	return nil
}
