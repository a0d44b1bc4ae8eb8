package main

import (
	"crypto/sha256"
	"encoding"
	"errors"
	"hash"

	jobhost "github.com/jobhost/jobhost/sdk/go"
)

// checkpoint is how far a download came. It is stored after the file's bytes are, so they are never fewer than it says.
type checkpoint struct {
	URL  string `json:"url"`
	Tag  string `json:"tag"`  // what the server calls this version of the file; empty: it does not say
	Done int64  `json:"done"` // bytes
	Hash []byte `json:"hash"` // the state of the hash after these bytes, so that they need not be read again
}

// key is where the checkpoint of a file is kept. A job whose data change fetches another file and has another checkpoint.
func key(sum string) string { return "fetch/" + sum }

// load returns the checkpoint of a download and its hash, or those of a fresh start. A hash state that cannot be read, such as one
// of another version of Go, is a fresh start.
func load(kv jobhost.KV, o Options) (checkpoint, hash.Hash, error) {
	fresh := checkpoint{URL: o.URL}
	var c checkpoint
	found, err := kv.Load(key(o.SHA256), &c)
	if err != nil {
		return fresh, nil, err
	}
	h := sha256.New()
	if !found || c.URL != o.URL || c.Done <= 0 {
		return fresh, h, nil
	}
	if state, ok := h.(encoding.BinaryUnmarshaler); ok && state.UnmarshalBinary(c.Hash) == nil {
		return c, h, nil
	}
	return fresh, sha256.New(), nil
}

// save stores a checkpoint.
func save(kv jobhost.KV, o Options, c checkpoint, h hash.Hash) error {
	state, ok := h.(encoding.BinaryMarshaler)
	if !ok {
		return errors.New("the hash has no state to store")
	}
	var err error
	if c.Hash, err = state.MarshalBinary(); err != nil {
		return err
	}
	return kv.Save(key(o.SHA256), c)
}
