// Calls is a guest for tests that makes the calls that its input lists, one after the other, and answers with their results.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
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
	case "swapped": // N times all that there is to do in A, a folder that is swapped; B is what its files say
		return swapped(c.A, c.B, int(c.N))
	case "panic":
		panic(c.A)
	default:
		return result{N: -1000}
	}
	return result{}
}

// swapped does in a folder whatever a file system knows. The number is how often something could be done, and the text the first
// thing that is nowhere inside.
func swapped(dir, harmless string, times int) (res result) {
	in := func(name string) string { return filepath.Join(dir, name) }
	did := func(err error) {
		if err == nil {
			res.N++
		}
	}
	outside := func(what string, err error) {
		if err == nil && res.S == "" {
			res.S = what
		}
	}
	for range times {
		for _, name := range []string{"secret", "mine0"} {
			b, err := os.ReadFile(in(name))
			did(err)
			if len(b) > len(harmless) {
				outside("read "+string(b), nil)
			}
		}
		did(os.WriteFile(in("mine0"), []byte(harmless), 0o600))
		did(os.Rename(in("mine0"), in("other0")))
		did(os.Link(in("other0"), in("mine0")))
		did(os.Chtimes(in("other0"), time.Unix(1, 0), time.Unix(2, 0)))
		did(os.Truncate(in("other0"), 1))
		did(os.Remove(in("mine0")))
		did(os.Remove(in("other0")))
		did(os.Mkdir(in("cell0"), 0o700))
		did(os.Remove(in("cell0")))
		entries, err := os.ReadDir(dir)
		did(err)
		for _, e := range entries {
			if e.Name() == "victim" || e.Name() == "pointer" || e.Name() == "cellar" {
				outside("list "+e.Name(), nil)
			}
		}
		_, err = os.Stat(in("victim"))
		outside("stat", err)
		_, err = os.Readlink(in("pointer"))
		outside("readlink", err)
		outside("rename", os.Rename(in("victim"), "/data/loot"))
		outside("link", os.Link(in("victim"), "/data/loot"))
		outside("remove", os.Remove(in("victim")))
		outside("truncate", os.Truncate(in("victim"), 0))
		outside("chtimes", os.Chtimes(in("victim"), time.Unix(1, 0), time.Unix(2, 0)))
		outside("remove a folder", os.Remove(in("cellar")))
		outside("mkdir", os.Mkdir(in("cellar/x"), 0o700))
		outside("symlink", os.Symlink("secret", in("link")))
	}
	return res
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
