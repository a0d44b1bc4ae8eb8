// Calls is a guest for tests that makes the calls that its input lists, one after the other, and answers with their results.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unsafe"
)

//go:wasmimport jobhost_v1 input
func hostInput(buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 output
func hostOutput(ptr unsafe.Pointer, size uint32)

//go:wasmimport jobhost_v1 log
func hostLog(level int32, ptr unsafe.Pointer, size uint32)

//go:wasmimport jobhost_v1 fail
func hostFail(code unsafe.Pointer, codeSize uint32, msg unsafe.Pointer, msgSize uint32, permanent uint32)

//go:wasmimport jobhost_v1 progress
func hostProgress(done, total int64, ptr unsafe.Pointer, size uint32)

//go:wasmimport jobhost_v1 sleep_ms
func hostSleep(ms int64) int32

//go:wasmimport jobhost_v1 kv_get
func kvGet(key unsafe.Pointer, size uint32, buf unsafe.Pointer, room uint32) int32

//go:wasmimport jobhost_v1 kv_set
func kvSet(key unsafe.Pointer, size uint32, ptr unsafe.Pointer, length uint32) int32

//go:wasmimport jobhost_v1 kv_delete
func kvDelete(key unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 kv_list
func kvList(key unsafe.Pointer, size uint32, buf unsafe.Pointer, room uint32) int32

//go:wasmimport jobhost_v1 http_send
func httpSend(head unsafe.Pointer, size uint32, body unsafe.Pointer, length uint32) int32

//go:wasmimport jobhost_v1 http_status
func httpStatus(h int32) int32

//go:wasmimport jobhost_v1 http_headers
func httpHeaders(h int32, buf unsafe.Pointer, room uint32) int32

//go:wasmimport jobhost_v1 http_read
func httpRead(h int32, buf unsafe.Pointer, room uint32) int32

//go:wasmimport jobhost_v1 http_close
func httpClose(h int32)

//go:wasmimport jobhost_v1 span_start
func spanStart(name unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 span_end
func spanEnd(id, ok int32)

//go:wasmimport jobhost_v1 span_attr
func spanAttr(id int32, key unsafe.Pointer, size uint32, value unsafe.Pointer, length uint32)

//go:wasmimport jobhost_v1 event
func hostEvent(ptr unsafe.Pointer, size uint32)

// call is one call: F says which, the rest what with.
type call struct {
	F, A, B string
	N, M    int64
	Times   int // how often; 1 if zero
	Grow    int // A and B are repeated so often; 1 if zero
}

// result is what came of a call: the number, and the bytes that it filled.
type result struct {
	N int64
	S string `json:",omitempty"`
}

//go:wasmexport jobhost_run
func run() int32 {
	buf := make([]byte, hostInput(nil, 0))
	hostInput(ptr(buf), size(buf))
	var in struct {
		Calls []call
		Quiet bool // no output
	}
	if err := json.Unmarshal(buf, &in); err != nil {
		hostLog(8, str(err.Error()), uint32(len(err.Error())))
		return 1
	}
	results := []result{}
	for _, c := range in.Calls {
		c.A, c.B = strings.Repeat(c.A, max(c.Grow, 1)), strings.Repeat(c.B, max(c.Grow, 1))
		for range max(c.Times, 1) {
			results = append(results, c.make())
		}
	}
	if in.Quiet {
		return 0
	}
	out, err := json.Marshal(results)
	if err != nil {
		return 2
	}
	hostOutput(ptr(out), size(out))
	return 0
}

func (c call) make() result {
	a, alen, b, blen := str(c.A), uint32(len(c.A)), str(c.B), uint32(len(c.B))
	switch c.F {
	case "log":
		hostLog(int32(c.N), a, alen)
	case "fail":
		hostFail(a, alen, b, blen, uint32(c.N))
	case "progress":
		hostProgress(c.N, c.M, a, alen)
	case "sleep":
		return result{N: int64(hostSleep(c.N))}
	case "kv_get":
		return filled(func(p unsafe.Pointer, n uint32) int32 { return kvGet(a, alen, p, n) })
	case "kv_set":
		return result{N: int64(kvSet(a, alen, b, blen))}
	case "kv_delete":
		return result{N: int64(kvDelete(a, alen))}
	case "kv_list":
		return filled(func(p unsafe.Pointer, n uint32) int32 { return kvList(a, alen, p, n) })
	case "http_send":
		return result{N: int64(httpSend(a, alen, b, blen))}
	case "http_status":
		return result{N: int64(httpStatus(int32(c.N)))}
	case "http_headers":
		return filled(func(p unsafe.Pointer, n uint32) int32 { return httpHeaders(int32(c.N), p, n) })
	case "http_read":
		buf := make([]byte, c.M)
		n := httpRead(int32(c.N), ptr(buf), size(buf))
		return result{int64(n), string(buf[:max(n, 0)])}
	case "http_read_all": // the number is how many bytes came, or the error
		buf, total, text := make([]byte, 64<<10), int64(0), ""
		for {
			n := httpRead(int32(c.N), ptr(buf), size(buf))
			if n < 0 {
				return result{int64(n), text}
			}
			if n == 0 {
				return result{total, text}
			}
			total += int64(n)
			text += string(buf[:min(int(n), max(0, 256-len(text)))])
		}
	case "http_close":
		httpClose(int32(c.N))
	case "span_start":
		return result{N: int64(spanStart(a, alen))}
	case "span_end":
		spanEnd(int32(c.N), int32(c.M))
	case "span_attr":
		spanAttr(int32(c.N), a, alen, b, blen)
	case "event":
		hostEvent(a, alen)
	case "env":
		v, ok := os.LookupEnv(c.A)
		return result{int64(map[bool]int{true: 1}[ok]), v}
	case "log_env": // A is a form with %s
		s := fmt.Sprintf(c.A, os.Getenv(c.B))
		hostLog(int32(c.N), str(s), uint32(len(s)))
	case "stdout":
		io.WriteString(os.Stdout, c.A)
	case "stderr":
		io.WriteString(os.Stderr, c.A)
	case "now":
		return result{N: time.Now().UnixNano()}
	case "wasi_sleep":
		began := time.Now()
		time.Sleep(time.Duration(c.N) * time.Millisecond)
		return result{N: time.Since(began).Milliseconds()}
	case "panic":
		panic(c.A)
	default:
		return result{N: -1000}
	}
	return result{}
}

// filled calls a function that fills a buffer, once for the length and once for the bytes.
func filled(f func(unsafe.Pointer, uint32) int32) result {
	n := f(nil, 0)
	if n <= 0 {
		return result{N: int64(n)}
	}
	buf := make([]byte, n)
	n = f(ptr(buf), size(buf))
	return result{int64(n), string(buf)}
}

func ptr(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }
func size(b []byte) uint32        { return uint32(len(b)) }
func str(s string) unsafe.Pointer { return unsafe.Pointer(unsafe.StringData(s)) }

func main() {}
