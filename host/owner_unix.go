//go:build unix

package host

import (
	"io/fs"
	"os"
	"syscall"
)

// checksModes says that permission bits mean something here.
const checksModes = true

// ownedByUs reports whether a file belongs to the user that this process runs as.
func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid()
}
