package boltstore

import (
	"encoding/binary"
	"errors"
	"fmt"

	bolt "go.etcd.io/bbolt"
)

// layout is the format that a program writes, and the steps that lead to it from older ones.
type layout struct {
	format uint64
	steps  map[uint64]func(*bolt.Tx) error // by the format that a step begins with; it ends with the next
}

// today is the layout of doc.go. A change that an older program would misread raises the format and adds the step from
// the one before; a file made by TestOldFilesAreRead with -update then stays in testdata for ever.
func today() layout { return layout{format: 1} }

var formatKey = []byte("format")

// errOlder is a file that has to be brought to this format.
var errOlder = errors.New("start the host on it once")

// of reads the format of a file; 0: it is new. A file of another program or of a newer one is an error.
func (l layout) of(b *bolt.Tx) (uint64, error) {
	meta := b.Bucket([]byte(buckets[bMeta]))
	if meta == nil {
		if k, _ := b.Cursor().First(); k != nil {
			return 0, errors.New("the file is a bbolt file, but no store of jobhost")
		}
		return 0, nil
	}
	got := meta.Get(formatKey)
	if got == nil {
		return 0, errors.New("the file is a bbolt file, but no store of jobhost")
	}
	v, n := binary.Uvarint(got)
	if n != len(got) || v == 0 || v > l.format {
		return 0, fmt.Errorf("the file has format %d, and this program knows %d; use a newer jobhost", v, l.format)
	}
	return v, nil
}

// prepare makes the buckets of a new file and brings an older one to this format. On an error the caller rolls back, so
// that the file stays as it was.
func (l layout) prepare(b *bolt.Tx) error {
	have, err := l.of(b)
	if err != nil {
		return err
	}
	for _, name := range buckets {
		if _, err := b.CreateBucketIfNotExists([]byte(name)); err != nil {
			return err
		}
	}
	for v := have; v > 0 && v < l.format; v++ {
		step := l.steps[v]
		if step == nil {
			return fmt.Errorf("the file has format %d, and this program knows no way from there to %d; use an older jobhost first", have, l.format)
		}
		if err := step(b); err != nil {
			return fmt.Errorf("the file of format %d cannot be brought to %d: %w", v, v+1, err)
		}
	}
	return b.Bucket([]byte(buckets[bMeta])).Put(formatKey, binary.AppendUvarint(nil, l.format))
}

// check wants a file that can be used as it is. One that is new or older is [errOlder].
func (l layout) check(b *bolt.Tx) error {
	have, err := l.of(b)
	switch {
	case err != nil:
		return err
	case have == 0:
		return fmt.Errorf("the file has no records yet; %w", errOlder)
	case have < l.format:
		return fmt.Errorf("the file has format %d, and this program reads %d; %w", have, l.format, errOlder)
	}
	for _, name := range buckets {
		if b.Bucket([]byte(name)) == nil {
			return damaged("it has no bucket %q", name)
		}
	}
	return nil
}
