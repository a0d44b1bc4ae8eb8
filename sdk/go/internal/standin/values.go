package standin

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// The limits of a host, in bytes.
const (
	maxKey    = 256
	maxValue  = 64 << 10
	maxValues = 1 << 20
)

// Values are the durable values of a job.
type Values map[string][]byte

// Get returns a copy of a value.
func (v Values) Get(key string) ([]byte, error) {
	if err := check(key); err != nil {
		return nil, err
	}
	value, ok := v[key]
	if !ok {
		return nil, wire.NotFound
	}
	return bytes.Clone(value), nil
}

// Set stores a copy of a value.
func (v Values) Set(key string, value []byte) error {
	if err := check(key); err != nil {
		return err
	}
	if len(value) > maxValue {
		return wire.TooLarge
	}
	total := len(key) + len(value)
	for k, old := range v {
		if k != key {
			total += len(k) + len(old)
		}
	}
	if total > maxValues {
		return wire.Limit
	}
	v[key] = append([]byte{}, value...)
	return nil
}

// Delete removes a value.
func (v Values) Delete(key string) error {
	if err := check(key); err != nil {
		return err
	}
	delete(v, key)
	return nil
}

// Keys lists the keys with a prefix.
func (v Values) Keys(prefix string) ([]byte, error) {
	keys := []string{}
	for _, k := range slices.Sorted(maps.Keys(v)) {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	return json.Marshal(keys)
}

func check(key string) error {
	switch {
	case len(key) > maxKey:
		return wire.TooLarge
	case key == "" || !utf8.ValidString(key):
		return wire.BadArgument
	}
	return nil
}
