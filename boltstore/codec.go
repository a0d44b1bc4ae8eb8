package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/jobhost/jobhost"
)

// A record begins with a byte for the version of its form, then come its fields without names: numbers as varints,
// strings and bytes behind their length, instants in microseconds, where possible as a distance to one before.

// enc appends fields.
type enc []byte

// open writes the version byte.
func (e *enc) open(k kind)    { e.byte(versions[k]) }
func (e *enc) byte(c byte)    { *e = append(*e, c) }
func (e *enc) uint(v uint64)  { *e = binary.AppendUvarint(*e, v) }
func (e *enc) int(v int64)    { *e = binary.AppendVarint(*e, v) }
func (e *enc) str(s string)   { *e = append(binary.AppendUvarint(*e, uint64(len(s))), s...) }
func (e *enc) bytes(b []byte) { *e = append(binary.AppendUvarint(*e, uint64(len(b))), b...) }
func (e *enc) flags(fs ...bool) {
	var c byte
	for i, f := range fs {
		if f {
			c |= 1 << i
		}
	}
	e.byte(c)
}

// hex writes text that is nearly always lower-case hexadecimal, an id or a digest, in half the bytes. Its length is
// doubled, plus one when it stands for digits.
func (e *enc) hex(s string) {
	if !isHex(s) {
		e.uint(uint64(len(s)) << 1)
		*e = append(*e, s...)
		return
	}
	e.uint(uint64(len(s)/2)<<1 | 1)
	for i := 0; i < len(s); i += 2 {
		e.byte(unhex(s[i])<<4 | unhex(s[i+1]))
	}
}

func isHex(s string) bool {
	for i := range len(s) {
		if unhex(s[i]) > 15 {
			return false
		}
	}
	return len(s)%2 == 0 && s != ""
}

var (
	errShort = errors.New("the record ends too early")
	errLong  = errors.New("the record goes on after its end")
	errValue = errors.New("the record has a value that is out of range")
)

// dec takes fields off a record. After the first fault every field is zero and err says what it was. What it returns
// does not share memory with the record.
type dec struct {
	b    []byte
	at   int
	text string // all of b, if that is not much, made once: strings are parts of it
	dry  bool   // only look for faults: strings and bytes come out empty
	slim bool   // a run's data is left out
	err  error
}

// open checks the version byte.
func (d *dec) open(k kind) {
	if v := d.byte(); d.err == nil && (v == 0 || v > versions[k]) {
		d.fail(errVersion(v, k))
	}
}

// version is the version byte, which open takes.
func (d *dec) version() byte {
	if len(d.b) == 0 {
		return 0
	}
	return d.b[0]
}

func errVersion(got byte, k kind) error {
	return fmt.Errorf("the record has version %d, and this program reads up to %d", got, versions[k])
}

// close returns the first fault, or that something is left over.
func (d *dec) close() error {
	if d.err == nil && d.at != len(d.b) {
		d.err = errLong
	}
	return d.err
}

func (d *dec) fail(err error) {
	if d.err == nil {
		d.err = err
	}
	d.at = len(d.b)
}

func (d *dec) byte() byte {
	if d.at >= len(d.b) {
		d.fail(errShort)
		return 0
	}
	d.at++
	return d.b[d.at-1]
}

func (d *dec) uint() uint64 {
	v, n := binary.Uvarint(d.b[d.at:])
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.at += n
	return v
}

func (d *dec) int() int64 {
	v, n := binary.Varint(d.b[d.at:])
	if n <= 0 {
		d.fail(errShort)
		return 0
	}
	d.at += n
	return v
}

// next takes n bytes, which are the record's own.
func (d *dec) next(n uint64) []byte {
	if n > uint64(len(d.b)-d.at) { //nolint:gosec // not negative
		d.fail(errShort)
		return nil
	}
	b := d.b[d.at : d.at+int(n)] //nolint:gosec // not more than the record has
	d.at += len(b)
	return b
}

// count is how many values follow. Each has at least one byte, so a larger one than there are bytes left is damage.
func (d *dec) count() uint64 {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail(errors.New("a list is longer than its record"))
		return 0
	}
	return n
}

func (d *dec) str() string {
	b := d.next(d.uint())
	switch {
	case len(b) == 0 || d.dry:
		return ""
	case len(d.b) > 1<<10: // most of it is data
		return string(b)
	}
	if d.text == "" {
		d.text = string(d.b)
	}
	return d.text[d.at-len(b) : d.at]
}

// bytes returns nil for no bytes.
func (d *dec) bytes() []byte {
	b := d.next(d.uint())
	if d.dry {
		return nil
	}
	return append([]byte(nil), b...)
}

func (d *dec) hex() string {
	n := d.uint()
	b := d.next(n >> 1)
	if d.dry {
		return ""
	}
	if n&1 == 0 {
		return string(b)
	}
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, digits[c>>4], digits[c&15])
	}
	return string(out)
}

// enum takes a byte that is at most last.
func enum[E ~uint8](d *dec, last E) E {
	c := E(d.byte())
	if c > last {
		d.fail(errValue)
		return 0
	}
	return c
}

func (d *dec) flags(fs ...*bool) {
	c := d.byte()
	for i, f := range fs {
		*f = c&(1<<i) != 0
	}
	if c>>len(fs) != 0 {
		d.fail(errValue)
	}
}

func (d *dec) priority() int32 {
	v := d.int()
	if v != int64(int32(v)) { //nolint:gosec // this is the check
		d.fail(errValue)
		return 0
	}
	return int32(v) //nolint:gosec // checked
}

func (d *dec) runID() jobhost.RunID { return jobhost.RunID(d.hex()) }
