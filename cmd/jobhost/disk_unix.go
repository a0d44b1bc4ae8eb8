//go:build linux || darwin

package main

import "syscall"

// freeSpace is how many bytes this user may still write at a path.
func freeSpace(path string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true //nolint:gosec,unconvert,nolintlint // the types differ by system
}
