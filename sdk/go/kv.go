package jobhost

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/jobhost/jobhost/sdk/go/internal/wire"
)

// KV holds the durable values of the run's job: checkpoints that survive attempts, restarts and nodes. All runs of a job
// share them. A key has 1 to 256 bytes of UTF-8, a value at most 64 KiB, and all of a job's together at most 1 MiB.
//
// Every call waits for the host's store. It fails with [ErrDenied] without the grant kv, and with [ErrFailed] when the store
// does.
type KV struct{ host wire.Host }

// Get returns a value, or [ErrNotFound].
func (kv KV) Get(key string) ([]byte, error) {
	value, err := kv.host.Get(key)
	return value, about("get", key, err)
}

// Set stores a value. It is durable when Set returns. It fails with [ErrTooLarge], with [ErrLimit] when the job's values are
// full, and with [ErrStopped] when the run is no longer Running on record.
func (kv KV) Set(key string, value []byte) error { return about("set", key, kv.host.Set(key, value)) }

// Delete removes a value, which need not be there. It fails as Set does.
func (kv KV) Delete(key string) error { return about("delete", key, kv.host.Delete(key)) }

// Keys returns the keys that begin with a prefix, sorted.
func (kv KV) Keys(prefix string) ([]string, error) {
	list, err := kv.host.Keys(prefix)
	if err != nil {
		return nil, about("list", prefix, err)
	}
	var keys []string
	return keys, about("list", prefix, json.Unmarshal(list, &keys))
}

// Load decodes a value that Save stored, and reports whether there is one. Without one v stays as it is.
func (kv KV) Load(key string, v any) (bool, error) {
	value, err := kv.Get(key)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, about("load", key, json.Unmarshal(value, v))
}

// Save stores a value as JSON.
func (kv KV) Save(key string, v any) error {
	value, err := json.Marshal(v)
	if err != nil {
		return about("save", key, err)
	}
	return kv.Set(key, value)
}

func about(what, key string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("kv: %s %q: %w", what, key, err)
}
