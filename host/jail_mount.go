package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/experimental/sysfs"
)

// mount opens the folders that the job is granted.
func (r *run) mount() (wazero.FSConfig, error) {
	config := wazero.NewFSConfig()
	for _, d := range r.grant.Dirs {
		root, err := r.host.openDir(d)
		if err != nil {
			return nil, fmt.Errorf("directory %s for the guest's %s: %w", d.Host, d.Guest, err)
		}
		j := &jail{r: r, guest: d.Guest, root: root, writable: d.Mode == ReadWrite, budget: budget{limit: d.MaxWritten}, open: map[*jailFile]struct{}{}}
		r.jails = append(r.jails, j)
		mounts, ok := config.(sysfs.FSConfig)
		if !ok {
			return nil, fmt.Errorf("this wazero cannot mount %s", d.Guest)
		}
		config = mounts.WithSysFSMount(j, d.Guest)
	}
	return config, nil
}

// openDir opens a granted folder. Its path may stand for another folder than when the grant was checked, since a link on the way
// can be switched. So what was opened is checked again, and not what the path stands for a moment later.
func (h *Host) openDir(d Dir) (*os.Root, error) {
	root, err := os.OpenRoot(d.Host + string(filepath.Separator) + ".") // of a FIFO's name it would wait for ever
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, at.Err // the caller names it
	}
	if err != nil {
		return nil, err
	}
	if err := h.cfg.checkOpened(root, d.Host); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return root, nil
}

// checkOpened reports an error if the folder that was opened by a path is one that no guest may reach, or cannot be told.
func (c Config) checkOpened(root *os.Root, host string) error {
	opened, err := root.Stat(".")
	if err != nil {
		return err
	}
	place := resolved(host)
	if now, err := os.Lstat(place); err != nil || !os.SameFile(opened, now) {
		return errors.New("its path came to stand for another folder while the run began")
	}
	return c.checkApart(place)
}
