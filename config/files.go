package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Limits of the files.
const (
	MaxFile  = 4 << 20  // bytes of one file
	MaxFiles = 16 << 20 // bytes of all files together
)

// File is a configuration file that has been read.
type File struct {
	Name string // as messages show it
	Data []byte
	Dir  string // the directory in whose listing it was found; empty: it was named itself
}

// ReadFiles reads configuration files. A directory stands for the files in it that end in .yaml or .yml, in the order of
// their names and without those that begin with a dot; directories in it are not entered, and an empty one is fine. A
// file that is reached twice is read once. The error is [Problems], one for each path that cannot be read.
func ReadFiles(paths ...string) ([]File, error) {
	var (
		files    []File
		problems Problems
		total    int
		seen     = map[string]bool{}
	)
	bad := func(path string, err error) {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			err = pe.Err
		}
		problems = append(problems, Problem{Pos: Position{File: path}, Msg: fmt.Sprintf("cannot read the configuration file: %v", err)})
	}
	for _, path := range paths {
		found, err := list(path)
		if err != nil {
			bad(path, err)
			continue
		}
		for _, f := range found {
			if id, err := filepath.Abs(f.Name); err == nil && seen[id] {
				continue
			} else if err == nil {
				seen[id] = true
			}
			if f.Data, err = readFile(f.Name); err != nil {
				bad(f.Name, err)
				continue
			}
			if total += len(f.Data); total > MaxFiles {
				bad(f.Name, fmt.Errorf("with it the files have more than %d MiB together", MaxFiles>>20))
				return nil, problems
			}
			files = append(files, f)
		}
	}
	if problems != nil {
		return nil, problems
	}
	return files, nil
}

// list returns the files that a path stands for, without their data.
func list(path string) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return []File{{Name: path}}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []File
	for _, e := range entries {
		name := filepath.Join(path, e.Name())
		ext := filepath.Ext(e.Name())
		if strings.HasPrefix(e.Name(), ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			continue
		}
		files = append(files, File{Name: name, Dir: path})
	}
	return files, nil
}

// readFile reads a regular file of at most [MaxFile] bytes. A pipe would block, and a device might never end.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(data) > MaxFile {
		return nil, errTooLarge
	}
	return data, nil
}

var errTooLarge = fmt.Errorf("it has more than %d MiB; split it", MaxFile>>20)
