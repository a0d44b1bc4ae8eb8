package instrument

import (
	"fmt"
	"math"
	"slices"
	"unicode/utf8"
)

// reader reads a part of a module. The first error sticks: later reads return zero and read nothing, so that a caller
// asks for it once per entry. Nothing is ever allocated by a length that was read.
type reader struct {
	b    []byte // the module from its start up to the end of the part
	at   int    // the next byte to read
	part string // the section's name, for errors
	fn   int    // the function's index, for errors; -1 outside functions
	err  *Error
}

func (r *reader) done() bool { return r.err != nil || r.at >= len(r.b) }

// rest is what is left to read. Appending to it copies it.
func (r *reader) rest() []byte { return slices.Clip(r.b[r.at:]) }

func (r *reader) left() int { return len(r.b) - r.at }

// fail keeps the first error, with the place where the reader is.
func (r *reader) fail(kind Kind, format string, args ...any) {
	r.failAt(r.at, kind, format, args...)
}

func (r *reader) failAt(at int, kind Kind, format string, args ...any) {
	if r.err == nil {
		r.err = &Error{Kind: kind, Section: r.part, Func: r.fn, Offset: at, Msg: fmt.Sprintf(format, args...)}
	}
}

// refuse fails because of a feature.
func (r *reader) refuse(at int, feature, what string) {
	if r.err == nil {
		r.failAt(at, Unsupported, "%s needs %s, which is not supported; build without it", what, feature)
		r.err.Feature = feature
	}
}

// result is the error as an error, and what is left to read is one too.
func (r *reader) result() error {
	if r.err == nil && r.left() > 0 {
		r.fail(Malformed, "%d bytes are left over at its end", r.left())
	}
	if r.err != nil {
		return r.err
	}
	return nil
}

// sub reads n bytes as a reader of their own, which continues to count places in the module.
func (r *reader) sub(n uint32) reader {
	at := r.at
	r.take(n)
	s := reader{b: r.b[:r.at], at: at, part: r.part, fn: r.fn, err: r.err}
	if r.err != nil {
		s.at = len(s.b)
	}
	return s
}

// take reads n bytes. They are the module's own.
func (r *reader) take(n uint32) []byte {
	if r.err != nil {
		return nil
	}
	if uint64(n) > uint64(r.left()) {
		r.fail(Malformed, "a length of %d bytes, but only %d are left", n, r.left())
		return nil
	}
	at := r.at
	r.at += int(n)
	return r.b[at:r.at]
}

func (r *reader) byte() byte {
	if r.err != nil {
		return 0
	}
	if r.at >= len(r.b) {
		r.fail(Malformed, "it ends too early")
		return 0
	}
	b := r.b[r.at]
	r.at++
	return b
}

// u32 reads an unsigned LEB128 number of at most 32 bits, in at most 5 bytes.
func (r *reader) u32() uint32 {
	if r.err == nil && r.at < len(r.b) && r.b[r.at] < 0x80 { // nearly all are small
		r.at++
		return uint32(r.b[r.at-1])
	}
	at := r.at
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		if shift == 28 && b > 0x0f {
			break
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
	r.failAt(at, Malformed, "a number is too large or too long for 32 bits")
	return 0
}

// signed reads a signed LEB128 number of so many bits: 32, 33 or 64.
func (r *reader) signed(bits int) int64 {
	at := r.at
	var v int64
	for shift := 0; shift < bits; shift += 7 {
		b := r.byte()
		if r.err != nil {
			return 0
		}
		v |= int64(b&0x7f) << shift
		if rest := bits - shift; rest < 7 {
			// The bits of the last byte that the number has no room for must repeat its sign.
			sign := int8(b<<1) >> rest
			if b >= 0x80 || sign != 0 && sign != -1 {
				break
			}
		}
		if b < 0x80 {
			if shift+7 < 64 && b&0x40 != 0 {
				v |= math.MinInt64 >> (63 - shift - 7)
			}
			return v
		}
	}
	r.failAt(at, Malformed, "a number is too large or too long for %d bits", bits)
	return 0
}

// count reads how many entries follow, of at least size bytes each, and compares it with what is left and a limit.
func (r *reader) count(what string, size, limit int) int {
	at := r.at
	n := uint64(r.u32())
	switch {
	case r.err != nil:
		return 0
	case n > uint64(r.left()/size):
		r.failAt(at, Malformed, "%d %s do not fit into the %d bytes that are left", n, what, r.left())
		return 0
	case n > uint64(limit):
		r.failAt(at, TooLarge, "%d %s, at most %d are allowed", n, what, limit)
		return 0
	}
	return int(n)
}

// index reads an index into a space of n things.
func (r *reader) index(what string, n int) uint32 {
	at := r.at
	i := r.u32()
	if r.err == nil && uint64(i) >= uint64(n) {
		r.failAt(at, Malformed, "%s index %d is out of range, there are %d", what, i, n)
		return 0
	}
	return i
}

// name reads a name: its length and UTF-8.
func (r *reader) name() string {
	at := r.at
	b := r.take(r.u32())
	if !utf8.Valid(b) {
		r.failAt(at, Malformed, "a name is not valid UTF-8")
		return ""
	}
	return string(b)
}

// valueType reads a value type of WebAssembly 2.0.
func (r *reader) valueType() byte {
	at := r.at
	t := r.byte()
	switch {
	case r.err != nil:
	case t >= typeV128 && t <= typeI32, t == typeFuncRef, t == typeExternRef:
		return t
	case t == 0x69 || t == 0x74: // exnref, nullexnref
		r.refuse(at, exceptions, fmt.Sprintf("value type %#x", t))
	case t == 0x63 || t == 0x64: // ref null ht, ref ht
		r.refuse(at, typedReferences, fmt.Sprintf("value type %#x", t))
	case t >= 0x6a && t <= 0x73: // the abstract heap types
		r.refuse(at, garbageCollection, fmt.Sprintf("value type %#x", t))
	default:
		r.failAt(at, Malformed, "value type %#x is unknown", t)
	}
	return 0
}

// refType reads a reference type of WebAssembly 2.0.
func (r *reader) refType() byte {
	at := r.at
	t := r.valueType()
	if r.err == nil && t != typeFuncRef && t != typeExternRef {
		r.failAt(at, Malformed, "type %#x is no reference type", t)
	}
	return t
}

// limits reads the limits of a table or memory. Without a maximum the largest possible one is returned.
func (r *reader) limits(most uint32) (flags byte, low, high uint32) {
	at := r.at
	flags = r.byte()
	switch {
	case r.err != nil:
		return 0, 0, 0
	case flags&2 != 0 && flags < 8:
		r.refuse(at, threads, "a shared memory")
	case flags&4 != 0 && flags < 8:
		r.refuse(at, memory64, "a 64-bit memory or table")
	case flags&8 != 0 && flags < 16:
		r.refuse(at, customPageSizes, "a memory with pages of another size")
	case flags > 1:
		r.failAt(at, Malformed, "limits have the unknown flags %#x", flags)
	}
	low, high = r.u32(), most
	if flags == 1 {
		high = r.u32()
	}
	switch {
	case r.err != nil:
	case low > high:
		r.failAt(at, Malformed, "a minimum of %d is above the maximum of %d", low, high)
	case high > most:
		r.failAt(at, Malformed, "a maximum of %d is above the largest possible, %d", high, most)
	}
	return flags, low, high
}

// uleb appends v in unsigned LEB128.
func uleb(b []byte, v uint32) []byte {
	for v >= 0x80 {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// sleb appends v in signed LEB128.
func sleb(b []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(b, c)
		}
		b = append(b, c|0x80)
	}
}

// padded writes v into exactly three bytes of signed LEB128; v is below 2^20.
func padded(b []byte, v uint32) {
	b[0], b[1], b[2] = byte(v)|0x80, byte(v>>7)|0x80, byte(v>>14)
}

// text appends a name with its length.
func text(b []byte, s string) []byte { return append(uleb(b, uint32(len(s))), s...) }
