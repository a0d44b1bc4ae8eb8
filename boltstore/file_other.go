//go:build !unix

package boltstore

import "os"

// keepOwner does nothing: a new file has the owner and the rights that its folder gives.
func keepOwner(string, os.FileInfo) error { return nil }

// syncDir does nothing: folders cannot be synced.
func syncDir(string) error { return nil }
