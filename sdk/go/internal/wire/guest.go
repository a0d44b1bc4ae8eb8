//go:build wasip1

package wire

import (
	"time"
	"unsafe"
)

// The functions of the host. A string is passed as pointer and length.

//go:wasmimport jobhost_v1 run
func hostRun(buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 output
func hostOutput(ptr unsafe.Pointer, size uint32)

//go:wasmimport jobhost_v1 fail
func hostFail(code, message string, permanent int32)

//go:wasmimport jobhost_v1 log
func hostLog(level int32, entry string)

//go:wasmimport jobhost_v1 progress
func hostProgress(done, total int64, message string)

//go:wasmimport jobhost_v1 cancelled
func hostCancelled() int32

//go:wasmimport jobhost_v1 deadline_ms
func hostDeadlineMS() int64

//go:wasmimport jobhost_v1 sleep_ms
func hostSleepMS(ms int64) int32

//go:wasmimport jobhost_v1 kv_get
func hostKVGet(key string, buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 kv_set
func hostKVSet(key string, ptr unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 kv_delete
func hostKVDelete(key string) int32

//go:wasmimport jobhost_v1 kv_list
func hostKVList(prefix string, buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 http_send
func hostHTTPSend(head unsafe.Pointer, headSize uint32, body unsafe.Pointer, bodySize uint32) int32

//go:wasmimport jobhost_v1 http_status
func hostHTTPStatus(handle int32) int32

//go:wasmimport jobhost_v1 http_headers
func hostHTTPHeaders(handle int32, buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 http_read
func hostHTTPRead(handle int32, buf unsafe.Pointer, size uint32) int32

//go:wasmimport jobhost_v1 http_close
func hostHTTPClose(handle int32)

//go:wasmimport jobhost_v1 span_start
func hostSpanStart(name string) int32

//go:wasmimport jobhost_v1 span_end
func hostSpanEnd(id, ok int32)

//go:wasmimport jobhost_v1 span_attr
func hostSpanAttr(id int32, key, value string)

//go:wasmimport jobhost_v1 event
func hostEvent(name string)

// Imports is the host that runs this guest.
type Imports struct{}

// here is the host of this process.
func here() (Host, bool) { return Imports{}, true }

// Document implements [Host].
func (Imports) Document() ([]byte, error) { return fill(hostRun) }

// Output implements [Host].
func (Imports) Output(result []byte) { hostOutput(pointer(result)) }

// Log implements [Host].
func (Imports) Log(level int, entry string) { hostLog(int32(level), entry) } //nolint:gosec // levels are small numbers
// Stopping implements [Host].
func (Imports) Stopping() bool { return hostCancelled() != 0 }

// Event implements [Host].
func (Imports) Event(name string) { hostEvent(name) }

// Fail implements [Host].
func (Imports) Fail(code, message string, permanent bool) { hostFail(code, message, flag(permanent)) }

// Progress implements [Host].
func (Imports) Progress(done, total int64, message string) { hostProgress(done, total, message) }

// Left implements [Host].
func (Imports) Left() (time.Duration, bool) {
	ms := hostDeadlineMS()
	return time.Duration(ms) * time.Millisecond, ms >= 0
}

// Sleep implements [Host].
func (Imports) Sleep(d time.Duration) error {
	return failure(hostSleepMS(int64((d + time.Millisecond - 1) / time.Millisecond)))
}

// Get implements [Host].
func (Imports) Get(key string) ([]byte, error) {
	return fill(func(buf unsafe.Pointer, size uint32) int32 { return hostKVGet(key, buf, size) })
}

// Set implements [Host].
func (Imports) Set(key string, value []byte) error {
	ptr, size := pointer(value)
	return failure(hostKVSet(key, ptr, size))
}

// Delete implements [Host].
func (Imports) Delete(key string) error { return failure(hostKVDelete(key)) }

// Keys implements [Host].
func (Imports) Keys(prefix string) ([]byte, error) {
	return fill(func(buf unsafe.Pointer, size uint32) int32 { return hostKVList(prefix, buf, size) })
}

// Send implements [Host].
func (Imports) Send(head, body []byte) (int32, error) {
	h, hn := pointer(head)
	b, bn := pointer(body)
	n := hostHTTPSend(h, hn, b, bn)
	return n, failure(n)
}

// Status implements [Host].
func (Imports) Status(handle int32) (int, error) {
	n := hostHTTPStatus(handle)
	return int(n), failure(n)
}

// Headers implements [Host].
func (Imports) Headers(handle int32) ([]byte, error) {
	return fill(func(buf unsafe.Pointer, size uint32) int32 { return hostHTTPHeaders(handle, buf, size) })
}

// Read implements [Host].
func (Imports) Read(handle int32, p []byte) (int, error) {
	ptr, size := pointer(p)
	n := hostHTTPRead(handle, ptr, size)
	return max(0, int(n)), failure(n)
}

// Close implements [Host].
func (Imports) Close(handle int32) { hostHTTPClose(handle) }

// SpanStart implements [Host].
func (Imports) SpanStart(name string) int32 { return hostSpanStart(name) }

// SpanEnd implements [Host].
func (Imports) SpanEnd(id int32, ok bool) { hostSpanEnd(id, flag(ok)) }

// SpanAttr implements [Host].
func (Imports) SpanAttr(id int32, key, value string) { hostSpanAttr(id, key, value) }

// fill calls a function that fills a buffer: once with a guess of the size, and again if there was more.
func fill(call func(buf unsafe.Pointer, size uint32) int32) ([]byte, error) {
	buf := make([]byte, 1<<10)
	for {
		n := call(pointer(buf))
		switch {
		case n < 0:
			return nil, Errno(n)
		case int(n) <= len(buf):
			return buf[:n], nil
		}
		buf = make([]byte, n)
	}
}

func pointer(b []byte) (unsafe.Pointer, uint32) {
	return unsafe.Pointer(unsafe.SliceData(b)), uint32(len(b)) //nolint:gosec // memory ends below 4 GiB
}

func failure(n int32) error {
	if n < 0 {
		return Errno(n)
	}
	return nil
}

func flag(on bool) int32 {
	if on {
		return 1
	}
	return 0
}
