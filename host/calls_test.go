package host_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
)

// call is a call that the guest "calls" makes.
type call struct {
	F, A, B string
	N, M    int64
	Times   int
	Grow    int
}

// result is what came of it.
type result struct {
	N int64
	S string
}

// caller is a host with the guest "calls", which has a grant.
func caller(tb testing.TB, cfg host.Config, grant host.Grant) *host.Host {
	tb.Helper()
	grant.Job, grant.Plugin = "reports.nightly", "calls"
	cfg.Cache, cfg.Grants = goCache(tb), []host.Grant{grant}
	return newHost(tb, cfg, map[string][]byte{"calls": goGuest(tb, "calls", "-buildmode=c-shared")})
}

func callData(tb testing.TB, calls ...call) string {
	tb.Helper()
	data, err := json.Marshal(map[string]any{"calls": calls})
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// makeCalls lets the guest make calls within a call of the host. It must succeed.
func makeCalls(tb testing.TB, h *host.Host, c jobhost.Call, calls ...call) ([]result, *sink) {
	tb.Helper()
	s := &sink{}
	c.Plugin, c.Run, c.Sink = "calls", sample(callData(tb, calls...)), s
	out := h.Run(tb.Context(), c)
	wantSuccess(tb, out)
	var results []result
	if err := json.Unmarshal(out.Output, &results); err != nil {
		tb.Fatalf("output %q: %v", out.Output, err)
	}
	return results, s
}

// numbers are the numbers of results.
func numbers(rs []result) (ns []int64) {
	for _, r := range rs {
		ns = append(ns, r.N)
	}
	return ns
}

// values are a job's durable values in memory. Each call meets the hook first, if there is one.
type values struct {
	mu   sync.Mutex
	m    map[string]string
	hook func(ctx context.Context) error
}

func (v *values) enter(ctx context.Context) error {
	if v.hook != nil {
		return v.hook(ctx)
	}
	return nil
}

func (v *values) Get(ctx context.Context, key string) ([]byte, bool, error) {
	if err := v.enter(ctx); err != nil {
		return nil, false, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	s, ok := v.m[key]
	return []byte(s), ok, nil
}

func (v *values) Set(ctx context.Context, key string, value []byte) error {
	if err := v.enter(ctx); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	total := len(key) + len(value)
	for k, s := range v.m {
		if k != key {
			total += len(k) + len(s)
		}
	}
	if total > abi.MaxValues {
		return jobhost.ErrFull
	}
	if v.m == nil {
		v.m = map[string]string{}
	}
	v.m[key] = string(value)
	return nil
}

func (v *values) Delete(ctx context.Context, key string) error {
	if err := v.enter(ctx); err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.m, key)
	return nil
}

func (v *values) Keys(ctx context.Context, prefix string) (keys []string, _ error) {
	if err := v.enter(ctx); err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for k := range v.m {
		if strings.HasPrefix(k, prefix) {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
