package boltstore

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jobhost/jobhost"
)

// Keys are compared as bytes, so everything in them is written so that its byte order is the order of its values:
// numbers big-endian with the sign flipped, the bits inverted where the larger comes first, and names, which cannot
// contain a zero byte, with one behind them.

const (
	idLen      = 16
	startedLen = 8 + idLen // an instant and the inverted id
	readyLen   = 4 + 8     // priority and instant in front of the trigger's key
)

var errKey = errors.New("the key has not the form of its bucket")

func putMicro(b []byte, micro int64) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(micro)^1<<63) //nolint:gosec // the bits are wanted, not the number
}

func micro(b []byte) int64 {
	return int64(binary.BigEndian.Uint64(b) ^ 1<<63) //nolint:gosec // the inverse of putMicro
}

// putPriority writes the larger priority first.
func putPriority(b []byte, p int32) []byte {
	return binary.BigEndian.AppendUint32(b, ^(uint32(p) ^ 1<<31)) //nolint:gosec // the bits are wanted, not the number
}

func priority(b []byte) int32 {
	return int32(^binary.BigEndian.Uint32(b) ^ 1<<31) //nolint:gosec // the inverse of putPriority
}

// putName writes a name so that keys of one name stay together, in front of those of any longer name.
func putName(b []byte, n jobhost.Name) []byte { return append(append(b, n...), 0) }

func putTriggerKey(b []byte, k jobhost.TriggerKey) []byte {
	return append(putName(b, k.Job), k.Trigger...)
}

func triggerKey(b []byte) (jobhost.TriggerKey, error) {
	i := bytes.IndexByte(b, 0)
	if i < 0 {
		return jobhost.TriggerKey{}, errKey
	}
	s := string(b)
	return jobhost.TriggerKey{Job: s[:i], Trigger: s[i+1:]}, nil
}

func putReadyKey(b []byte, p int32, ready int64, k jobhost.TriggerKey) []byte {
	return putTriggerKey(putMicro(putPriority(b, p), ready), k)
}

func readyKey(b []byte) (p int32, ready int64, k jobhost.TriggerKey, err error) {
	if len(b) < readyLen {
		return 0, 0, k, errKey
	}
	k, err = triggerKey(b[readyLen:])
	return priority(b), micro(b[4:]), k, err
}

func putBlockedKey(b []byte, p int32, due int64, k jobhost.TriggerKey) []byte {
	return append(putMicro(putPriority(putName(b, k.Job), p), due), k.Trigger...)
}

// putStarted orders runs by start and, from the end, by id: read backwards, the newest start comes first and equal
// ones by id.
func putStarted(b []byte, started int64, id rawID) []byte {
	b = putMicro(b, started)
	for _, c := range id {
		b = append(b, ^c)
	}
	return b
}

func startedKey(b []byte) (started int64, id rawID, err error) {
	if len(b) != startedLen {
		return 0, id, errKey
	}
	for i := range id {
		id[i] = ^b[8+i]
	}
	return micro(b), id, nil
}

// rawID is a run id in half the bytes.
type rawID [idLen]byte

func toRaw(id jobhost.RunID) (raw rawID, ok bool) {
	if len(id) != 2*idLen {
		return raw, false
	}
	for i := range raw {
		hi, lo := unhex(id[2*i]), unhex(id[2*i+1])
		if hi|lo > 15 {
			return raw, false
		}
		raw[i] = hi<<4 | lo
	}
	return raw, true
}

// parseID is for ids that are written. One that has not the form of an id is an error; read, it is just not there.
func parseID(id jobhost.RunID) (rawID, error) {
	raw, ok := toRaw(id)
	if !ok {
		_, err := jobhost.ParseRunID(string(id))
		return raw, err
	}
	return raw, nil
}

func (r rawID) id() jobhost.RunID {
	var b [2 * idLen]byte
	for i, c := range r {
		b[2*i], b[2*i+1] = digits[c>>4], digits[c&15]
	}
	return jobhost.RunID(b[:])
}

// millis is when the id was drawn.
func (r rawID) millis() int64 {
	return int64(binary.BigEndian.Uint64(r[:]) >> 16)
}

const digits = "0123456789abcdef"

// unhex is the value of a lower-case digit, and more than 15 for any other byte.
func unhex(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	}
	return 255
}

// ceilMicro is the first microsecond that is not before t.
func ceilMicro(t time.Time) int64 {
	if t.Nanosecond()%1000 != 0 {
		return t.UnixMicro() + 1
	}
	return t.UnixMicro()
}

func fromMicro(m int64) time.Time { return time.UnixMicro(m).UTC() }
