package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// The limit of a job is that of its run (SPEC 16, W4). Only the command's own bounds the compiling as well.
func TestAJobsLimitIsNotForTheCompiling(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ok.wasm")
	if err := os.WriteFile(file, tiny["ok.wasm"], 0o600); err != nil {
		t.Fatal(err)
	}
	load := func(limit, total time.Duration) (deadline time.Time, err error) {
		h, err := host.New(t.Context(), host.Config{MaxMemory: 16 << 20, MaxTotalMemory: 32 << 20})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close(t.Context())
		call := jobhost.Call{Plugin: "ok"}
		err = (&trial{file: file, timeout: limit}).load(t.Context(), h, &call, total)
		return call.Deadline, err
	}
	if deadline, err := load(time.Nanosecond, 0); err != nil || deadline.IsZero() {
		t.Errorf("with a job's limit: deadline %v, error %v; want a deadline and no error", deadline, err)
	}
	if _, err := load(time.Nanosecond, time.Nanosecond); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("with the command's limit: %v, want %v", err, context.DeadlineExceeded)
	}
}
