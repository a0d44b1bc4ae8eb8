//go:build unix

// Package usage says what a process has used so far.
package usage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is the id of a process, or [Self].
type Process int

// Self is this process.
const Self Process = 0

// tick is the unit of the processor times of other processes, on every system that Go runs on.
const tick = 10 * time.Millisecond

// CPU is its processor time, in user and system mode. Of another process it is known on Linux only, to 10 ms; it is zero
// once that has ended.
func (p Process) CPU() time.Duration {
	if p == Self {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			panic(err) // it cannot fail for this process
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	stat, err := p.file("stat")
	if err != nil {
		return 0
	}
	// The name of the program is in parentheses and may contain anything; user and system time are the 12th and 13th after it.
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, err1 := strconv.Atoi(f[11])
	system, err2 := strconv.Atoi(f[12])
	if errors.Join(err1, err2) != nil {
		return 0
	}
	return time.Duration(user+system) * tick
}

// Resident is how many bytes of memory it holds. That is known on Linux only.
func (p Process) Resident() (float64, error) {
	status, err := p.file("status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(status) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			kib, err := strconv.ParseFloat(f[1], 64)
			return kib * 1024, err
		}
	}
	return 0, errors.New("its status has no VmRSS")
}

func (p Process) file(name string) (string, error) {
	id := "self"
	if p != Self {
		id = strconv.Itoa(int(p))
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%s/%s", id, name))
	return string(text), err
}

// Heap is how many bytes are in use on Go's heap of this process after a collection.
func Heap() float64 {
	runtime.GC()
	runtime.GC() // what finalizers held
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
