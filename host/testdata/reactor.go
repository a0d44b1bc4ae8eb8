// Reactor is a guest for tests that speaks to the host through its functions.
package main

import (
	"encoding/json"
	"unsafe"
)

//go:wasmimport jobhost_v1 input
func hostInput(buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 output
func hostOutput(ptr unsafe.Pointer, size uint32)

//go:wasmimport jobhost_v1 log
func hostLog(level int32, ptr unsafe.Pointer, size uint32)

var calls int

//go:wasmexport jobhost_run
func run() int32 {
	calls++
	buf := make([]byte, hostInput(nil, 0))
	hostInput(unsafe.Pointer(unsafe.SliceData(buf)), uint32(len(buf)))
	var in map[string]any
	if err := json.Unmarshal(buf, &in); err != nil {
		return 1
	}
	say("called")
	in["calls"] = calls
	out, err := json.Marshal(in)
	if err != nil {
		return 2
	}
	hostOutput(unsafe.Pointer(unsafe.SliceData(out)), uint32(len(out)))
	return 0
}

func say(s string) { hostLog(4, unsafe.Pointer(unsafe.StringData(s)), uint32(len(s))) }

func main() {}
