package host

import (
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pagemap is the file in which the system tells about the pages of this process; nil where it does not. It stays open.
var pagemap = sync.OnceValue(func() *os.File {
	f, err := os.Open("/proc/self/pagemap")
	if err != nil {
		return nil
	}
	return f
})

// pageScan is the argument of the request PAGEMAP_SCAN, which is there since Linux 6.7. See
// Documentation/admin-guide/mm/pagemap.rst of the kernel.
type pageScan struct {
	size, flags               uint64
	start, end                uint64
	stopped                   uint64 // where the scan came to
	ranges, room              uint64 // where they go, and how many may
	most                      uint64 // pages
	inverted, all, any, shown uint64 // which pages are meant
}

// pageRange is a range of pages of one kind.
type pageRange struct{ start, end, kind uint64 }

const (
	pageScanRequest = 0xc0606610 // _IOWR('f', 16, struct pm_scan_arg)

	pageOfFile  = 1 << 2 // also of a private mapping, unless it was written
	pagePresent = 1 << 3
	pageSwapped = 1 << 4
	pageZero    = 1 << 5 // the one of all memory that was only read
)

// dirtyPages finds the pages of a private mapping that were written: its own pages, not those of a file or the one of
// zeros. It fills into as far as there is room and most pages allow, with offsets into mapped, and returns how many ranges
// it found and where it stopped. When it cannot tell, it stopped at once.
func dirtyPages(mapped []byte, into []pageRange, most uint64) (n int, stopped uint64) {
	f := pagemap()
	if f == nil || len(mapped) == 0 {
		return 0, 0
	}
	var pin runtime.Pinner // since the request has an address that the Go runtime does not see
	pin.Pin(&into[0])
	defer pin.Unpin()
	base := uint64(uintptr(unsafe.Pointer(&mapped[0]))) //nolint:gosec // not on the Go heap
	s := pageScan{
		start: base, end: base + uint64(len(mapped)),
		ranges: uint64(uintptr(unsafe.Pointer(&into[0]))), room: uint64(len(into)), most: most, //nolint:gosec // pinned
		inverted: pageOfFile | pageZero, all: pageOfFile | pageZero, any: pagePresent | pageSwapped, shown: pagePresent | pageSwapped,
	}
	s.size = uint64(unsafe.Sizeof(s))
	found, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), pageScanRequest, uintptr(unsafe.Pointer(&s))) //nolint:gosec // as the request wants it
	if errno != 0 {
		return 0, 0
	}
	for i := range into[:found] {
		into[i].start -= base
		into[i].end -= base
	}
	return int(found), s.stopped - base
}
