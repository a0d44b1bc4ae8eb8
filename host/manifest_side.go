package host

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/jobhost/jobhost"
)

// openSide opens a side file; a private one only if it is in its folder, whatever symbolic links there are. Whoever may put a
// link there must not read in messages what the host may read elsewhere.
func openSide(file string, private bool) (*os.File, error) {
	if !private {
		return os.OpenFile(file, os.O_RDONLY|openNonblocking, 0)
	}
	dir, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	f, err := dir.OpenFile(filepath.Base(file), os.O_RDONLY|openNonblocking, 0)
	if info, e := dir.Lstat(filepath.Base(file)); e == nil && info.Mode().Type() == fs.ModeSymlink && err != nil {
		err = errors.New("it is a symbolic link to no file of the plugin folder; put the file itself there")
	}
	return f, errors.Join(err, dir.Close())
}

// foreignError is a side file that is somebody else's. It is left out, and its module is not refused for it: whoever may put a
// file there but not replace the module could take the plugin away by one.
type foreignError struct {
	file string
	uid  int
}

func (e *foreignError) Error() string {
	return fmt.Sprintf("%s is left out, since it belongs to user %d, who is neither root, nor the owner of the module, nor the user of this host; "+
		"to have it read: chown --reference=%s%s %[1]s", e.file, e.uid, strings.TrimSuffix(e.file, jobhost.ManifestExtension), extension)
}

// checkOwner reports an error if a side file, or a link in its place, is somebody else's. Of a module that is not known nobody is the
// owner.
func checkOwner(file string, side, module fs.FileInfo) error {
	uid, known := ownerOf(side)
	if !known || uid == 0 || ownedByUs(side) {
		return nil
	}
	if module != nil {
		if owner, known := ownerOf(module); known && owner == uid {
			return nil
		}
	}
	return &foreignError{file, uid}
}

// readSide reads the side file of a module, which only its owner may be able to write when private is set. No file is no data.
func readSide(file string, module fs.FileInfo, private bool) (data []byte, err error) {
	f, err := openSide(file, private)
	if err == nil {
		defer func() { err = errors.Join(err, f.Close()) }()
	}
	name, gone := os.Lstat(file) // after it was opened: the link that was followed, if it was one
	if errors.Is(gone, fs.ErrNotExist) {
		return nil, nil
	}
	if gone == nil {
		if err := checkOwner(file, name, module); err != nil {
			return nil, err
		}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkOwner(file, info, module); err != nil {
		return nil, err
	}
	switch {
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case private && checksModes && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("%s: mode is %#o, so group or others may write it; chmod go-w it", file, info.Mode().Perm())
	}
	data, err = io.ReadAll(io.LimitReader(f, jobhost.MaxManifest+1))
	if len(data) > jobhost.MaxManifest {
		return nil, fmt.Errorf("%s has more than %s, which is the most for a manifest", file, size(jobhost.MaxManifest))
	}
	if data == nil {
		data = []byte{} // an empty file is a manifest that says nothing
	}
	return data, err
}
