//go:build wasip1

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"unsafe"

	"github.com/jobhost/jobhost/abi"
)

// The host functions that this guest uses. A string is passed as pointer and length.

//go:wasmimport jobhost_v1 input
func hostInput(buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 output
func hostOutput(result string)

//go:wasmimport jobhost_v1 log
func hostLog(level int32, line string)

//go:wasmimport jobhost_v1 fail
func hostFail(code, message string, permanent int32)

// The codes that this guest fails with.
const (
	codeBadData    = "LINKCHECK_BAD_DATA"
	codeUnreadable = "LINKCHECK_UNREADABLE"
	codeDead       = "LINKCHECK_DEAD_LINKS"
)

// run is what the host calls. 0 is success.
//
//go:wasmexport jobhost_run
func run() int32 {
	o, err := ReadOptions(input())
	if err != nil {
		return fail(codeBadData, err.Error(), true)
	}
	result, err := Check(os.DirFS(o.Root), o.Ignore)
	if err != nil {
		return fail(codeUnreadable, err.Error(), false)
	}
	for _, d := range result.Dead {
		hostLog(abi.Warn, fmt.Sprintf("%s:%d: %s: %s", d.File, d.Line, d.Link, d.Why))
	}
	hostLog(abi.Info, result.String())
	out, err := json.Marshal(result)
	if err != nil {
		return fail(codeUnreadable, err.Error(), false)
	}
	hostOutput(string(out))
	if o.FailOnDead && result.DeadCount > 0 {
		return fail(codeDead, result.String(), true) // the files do not change by trying again
	}
	return 0
}

// input fetches the data: once with a guess of its size, and again if it was larger.
func input() []byte {
	buf := make([]byte, 4<<10)
	for {
		n := hostInput(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
		if n < 0 {
			return nil
		}
		if int(n) <= len(buf) {
			return buf[:n]
		}
		buf = make([]byte, n)
	}
}

func fail(code, message string, permanent bool) int32 {
	var p int32
	if permanent {
		p = 1
	}
	hostFail(code, message, p)
	return 1
}
