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
	uid, known := ownerOf(info)
	return known && uid == os.Geteuid()
}

// ownerOf is the user that a file belongs to.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(st.Uid), true
}
