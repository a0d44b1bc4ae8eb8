package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// trialValues are the durable values of a trial: in memory, or in a JSON file of keys and values in base64, which is written
// whole at each change. They are for the one run.
type trialValues struct {
	file   string // empty: in memory
	values map[string][]byte
}

var _ jobhost.KV = (*trialValues)(nil)

// openValues reads the values of a file, which need not be there yet.
func openValues(file string) (*trialValues, error) {
	v := &trialValues{file: file, values: map[string][]byte{}}
	if file == "" {
		return v, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return v, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // it is read only
	d := json.NewDecoder(f)
	if err := d.Decode(&v.values); err != nil {
		return nil, fmt.Errorf("%s: %w; want a JSON object of keys and values in base64", file, err)
	}
	if v.values == nil {
		v.values = map[string][]byte{}
	}
	return v, nil
}

// Get implements jobhost.KV.
func (v *trialValues) Get(_ context.Context, key string) ([]byte, bool, error) {
	value, ok := v.values[key]
	return bytes.Clone(value), ok, nil
}

// Set implements jobhost.KV.
func (v *trialValues) Set(_ context.Context, key string, value []byte) error {
	size := len(key) + len(value)
	for k, old := range v.values {
		if k != key {
			size += len(k) + len(old)
		}
	}
	if size > abi.MaxValues {
		return jobhost.ErrFull
	}
	v.values[key] = bytes.Clone(value)
	return v.save()
}

// Delete implements jobhost.KV.
func (v *trialValues) Delete(_ context.Context, key string) error {
	delete(v.values, key)
	return v.save()
}

// Keys implements jobhost.KV.
func (v *trialValues) Keys(_ context.Context, prefix string) ([]string, error) {
	keys := slices.Sorted(maps.Keys(v.values))
	return slices.DeleteFunc(keys, func(k string) bool { return !strings.HasPrefix(k, prefix) }), nil
}

func (v *trialValues) save() error {
	if v.file == "" {
		return nil
	}
	b, err := json.MarshalIndent(v.values, "", "  ")
	if err != nil {
		return err
	}
	temp := v.file + ".new"
	if err := os.WriteFile(temp, append(b, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(temp, v.file)
}
