package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// valueFunctions are those of durable values. Each of them waits for the store, without a compute slot, and goes on after a
// request to stop: a checkpoint is what the time of grace is for (ABI 3).
var valueFunctions = []hostFunction{
	{abi.FuncKVGet, i32s(4), i32s(1), kvGet},
	{abi.FuncKVSet, i32s(4), i32s(1), kvSet},
	{abi.FuncKVDelete, i32s(2), i32s(1), kvDelete},
	{abi.FuncKVList, i32s(4), i32s(1), kvList},
}

func kvGet(r *run, m api.Module, s []uint64) {
	key, refused := r.valueKey(m, s, 1, abi.FuncKVGet)
	if refused != 0 {
		s[0] = errno(refused)
		return
	}
	var value []byte
	found := false
	failed := r.value(abi.FuncKVGet, func(ctx context.Context, kv jobhost.KV) (err error) {
		value, found, err = kv.Get(ctx, key)
		return err
	})
	switch {
	case failed != 0:
		s[0] = errno(failed)
	case !found:
		s[0] = errno(abi.NotFound)
	default:
		fill(m, s[2:], value)
		s[0] = s[2]
	}
}

func kvSet(r *run, m api.Module, s []uint64) {
	key, refused := r.valueKey(m, s, 1, abi.FuncKVSet)
	if refused == 0 && api.DecodeU32(s[3]) > abi.MaxValue {
		refused = abi.TooLarge
	}
	view, ok := m.Memory().Read(api.DecodeU32(s[2]), api.DecodeU32(s[3]))
	if refused == 0 && !ok {
		refused = abi.BadArgument
	}
	if refused != 0 {
		s[0] = errno(refused)
		return
	}
	value := bytes.Clone(view)
	s[0] = errno(r.value(abi.FuncKVSet, func(ctx context.Context, kv jobhost.KV) error { return kv.Set(ctx, key, value) }))
}

func kvDelete(r *run, m api.Module, s []uint64) {
	key, refused := r.valueKey(m, s, 1, abi.FuncKVDelete)
	if refused == 0 {
		refused = r.value(abi.FuncKVDelete, func(ctx context.Context, kv jobhost.KV) error { return kv.Delete(ctx, key) })
	}
	s[0] = errno(refused)
}

func kvList(r *run, m api.Module, s []uint64) {
	prefix, refused := r.valueKey(m, s, 0, abi.FuncKVList)
	keys := []string{} // an array also when there are none
	if refused == 0 {
		refused = r.value(abi.FuncKVList, func(ctx context.Context, kv jobhost.KV) error {
			found, err := kv.Keys(ctx, prefix)
			keys = append(keys, found...)
			return err
		})
	}
	if refused != 0 {
		s[0] = errno(refused)
		return
	}
	fill(m, s[2:], plainJSON(keys))
	s[0] = s[2]
}

// valueKey reads the key that a call begins with; it has at least so many bytes.
func (r *run) valueKey(m api.Module, s []uint64, least uint32, function string) (string, abi.Errno) {
	size := api.DecodeU32(s[1])
	switch {
	case !r.grant.KV:
		r.denied("kv", function+": durable values are not granted; the grant `kv: true` would do it")
		return "", abi.Denied
	case size > abi.MaxKey:
		return "", abi.TooLarge
	}
	key, ok := m.Memory().Read(api.DecodeU32(s[0]), size)
	if !ok || size < least || !utf8.Valid(key) {
		return "", abi.BadArgument
	}
	return string(key), 0
}

// value makes a call of the job's values. A failure of the store is told in the run's log, since the guest gets only a
// number.
func (r *run) value(function string, call func(context.Context, jobhost.KV) error) abi.Errno {
	err := errNoValues
	if r.call.KV != nil {
		r.away(func() { err = call(r.ctx, r.call.KV) })
	}
	switch {
	case err == nil:
		return 0
	case errors.Is(err, jobhost.ErrRunOver):
		return abi.Ending
	case errors.Is(err, jobhost.ErrFull):
		return abi.Limit
	}
	r.remark(function + " failed: " + err.Error())
	return abi.Failed
}

var errNoValues = errors.New("there is no store for durable values here")

// plainJSON is v as JSON whose text stays as its author wrote it.
func plainJSON(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err) // lists and maps of text always have a JSON form
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
