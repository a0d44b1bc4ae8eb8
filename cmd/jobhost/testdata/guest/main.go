//go:build wasip1

// Guest does what its data says. It is built to WebAssembly for the tests.
package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"
)

//go:wasmimport jobhost_v1 sleep_ms
func sleepMS(ms int64) int32

//go:wasmimport jobhost_v1 cancelled
func cancelled() int32

//go:wasmimport jobhost_v1 kv_set
func kvSet(key unsafe.Pointer, size uint32, value unsafe.Pointer, length uint32) int32

//go:wasmimport jobhost_v1 kv_get
func kvGet(key unsafe.Pointer, size uint32, buf unsafe.Pointer, room uint32) int32

//go:wasmimport jobhost_v1 progress
func hostProgress(done, total int64, text unsafe.Pointer, size uint32)

//go:wasmimport jobhost_v1 http_send
func httpSend(head unsafe.Pointer, size uint32, body unsafe.Pointer, length uint32) int32

//go:wasmimport jobhost_v1 http_status
func httpStatus(h int32) int32

// orders are a list of things to do, one after the other.
type orders struct {
	Do    []string `json:"do"`
	Retry []string `json:"retry"` // what a retry does instead
}

// global is 0 in each fresh instance.
var global int

func main() {
	var o orders
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		fail(65, err.Error())
	}
	if os.Getenv("JOBHOST_KIND") == "Retry" && o.Retry != nil {
		o.Do = o.Retry
	}
	for _, what := range o.Do {
		verb, arg, _ := strings.Cut(what, " ")
		obey(verb, arg)
	}
}

func obey(verb, arg string) {
	switch verb {
	case "say":
		fmt.Fprintln(os.Stderr, arg)
	case "print":
		fmt.Print(arg)
	case "raw": // bytes in hexadecimal
		b, err := hex.DecodeString(arg)
		if err != nil {
			fail(65, err.Error())
		}
		os.Stdout.Write(b)
	case "spin":
		for n := uint32(1); n != 0; n = n*1664525 | 1 {
		}
	case "sleep": // the one of WASI
		time.Sleep(duration(arg))
	case "host-sleep":
		sleepMS(duration(arg).Milliseconds())
	case "until-cancelled":
		for cancelled() == 0 {
			sleepMS(10)
		}
	case "exit":
		var code int
		fmt.Sscan(arg, &code)
		fail(code, "exiting with "+arg)
	case "panic":
		panic(arg)
	case "count":
		global++
		fmt.Print(global)
	case "env":
		fmt.Print(os.Getenv(arg))
	case "args":
		fmt.Print(strings.Join(os.Args[1:], " "))
	case "keep": // a durable value: key value
		key, value, _ := strings.Cut(arg, " ")
		if n := kvSet(text(key), uint32(len(key)), text(value), uint32(len(value))); n < 0 {
			fail(1, fmt.Sprint("kv_set answers ", n))
		}
	case "kept":
		buf := make([]byte, 100)
		n := kvGet(text(arg), uint32(len(arg)), unsafe.Pointer(&buf[0]), uint32(len(buf)))
		fmt.Print(n, " ", string(buf[:max(n, 0)]))
	case "progress": // of ten
		var done int64
		fmt.Sscan(arg, &done)
		hostProgress(done, 10, text("steps"), 5)
	case "get": // a URL; the status or the error number is the result
		head, _ := json.Marshal(map[string]string{"url": arg})
		n := httpSend(unsafe.Pointer(&head[0]), uint32(len(head)), nil, 0)
		if n > 0 {
			n = httpStatus(n)
		}
		fmt.Print(n)
	case "now":
		fmt.Print(time.Now().UTC().Format("2006-01-02T15:04"))
	case "write":
		if err := os.WriteFile(arg, []byte("written"), 0o600); err != nil {
			fail(1, err.Error())
		}
	default:
		fail(65, "no such order: "+verb)
	}
}

func text(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

func duration(s string) time.Duration {
	d, err := time.ParseDuration(s)
	if err != nil {
		fail(65, err.Error())
	}
	return d
}

func fail(code int, why string) {
	fmt.Fprintln(os.Stderr, why)
	os.Exit(code)
}
