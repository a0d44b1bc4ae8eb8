package host

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobhost/jobhost/abi"
)

// readModule reads a module's file, once: the bytes that are hashed are the bytes that are compiled. A file that group
// or others may write is refused when private is set.
func readModule(file string, private bool) (bin []byte, digest string, info fs.FileInfo, err error) {
	info, err = os.Stat(file)
	if err != nil {
		return nil, "", nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, "", info, errors.New("not a regular file")
	}
	f, err := os.OpenFile(file, os.O_RDONLY|openNonblocking, 0)
	if err != nil {
		return nil, "", info, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err = f.Stat() // what was opened, whatever the name stands for by now
	if err != nil {
		return nil, "", nil, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, "", info, errors.New("not a regular file")
	case private && checksModes && mode.Perm()&0o022 != 0:
		return nil, "", info, fmt.Errorf("mode is %#o, so group or others may write it; chmod go-w %s", mode.Perm(), file)
	case info.Size() > abi.MaxModule:
		return nil, "", info, tooLarge(info.Size())
	}
	bin, err = io.ReadAll(io.LimitReader(f, abi.MaxModule+1))
	if err != nil {
		return nil, "", info, err
	}
	if len(bin) > abi.MaxModule {
		return nil, "", info, tooLarge(int64(len(bin)))
	}
	sum := sha256.Sum256(bin)
	return bin, hex.EncodeToString(sum[:]), info, nil
}

func tooLarge(n int64) error {
	return fmt.Errorf("file has %d bytes, at most %d are allowed; strip it (Go: -ldflags='-s -w')", n, abi.MaxModule)
}

// overlap reports whether one of two folders is, or is inside, the other. Symbolic links are followed as far as the
// paths exist.
func overlap(a, b string) bool {
	a, b = resolved(a), resolved(b)
	return within(a, b) || within(b, a)
}

func within(dir, outer string) bool {
	rel, err := filepath.Rel(outer, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func resolved(p string) string {
	abs, err := filepath.Abs(p)
	if err != nil {
		return filepath.Clean(p)
	}
	for dir, rest := abs, ""; ; dir, rest = filepath.Dir(dir), filepath.Join(filepath.Base(dir), rest) {
		if target, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(target, rest)
		}
		if dir == filepath.Dir(dir) {
			return abs
		}
	}
}
