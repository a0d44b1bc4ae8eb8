//go:build unix

package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// million is a store with 1,000,000 ended runs of 5,000 jobs, made once for all benchmarks of a process. Its file has no
// name any more, so it goes with the process.
var million = sync.OnceValues(func() (*Store, error) {
	dir, err := os.MkdirTemp("", "million")
	if err != nil {
		return nil, err
	}
	s, err := Open(filepath.Join(dir, "jobhost.db"), Config{})
	if err := errors.Join(err, os.RemoveAll(dir)); err != nil {
		return nil, err
	}
	const all, part, jobs = 1_000_000, 2000, 5000
	for first := 0; first < all; first += part {
		runs := make([]jobhost.Run, part)
		for i := range runs {
			n := first + i
			r := testRun(n, fmt.Sprintf("job-%04d", n%jobs), t0.Add(time.Duration(n)*time.Second))
			runs[i] = succeeded(r, r.StartedAt.Add(time.Second))
			if n%100 == 0 {
				runs[i].State, runs[i].ErrorCode, runs[i].ErrorMessage = jobhost.RunFailed, "E_BROKEN", "it broke"
			}
		}
		if err := s.Update(context.Background(), func(tx jobhost.Tx) error { return tx.PutRuns(runs...) }); err != nil {
			return nil, errors.Join(err, s.Close())
		}
	}
	return s, nil
})

// BenchmarkHistory reads pages of 100 runs, the newest first, out of a million.
func BenchmarkHistory(b *testing.B) {
	s, err := million()
	if err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]jobhost.RunQuery{
		"first page":            {},
		"page 100":              {Skip: 9900},
		"of a job":              {Job: "job-0042"},
		"that failed":           {States: []jobhost.RunState{jobhost.RunFailed}},
		"of an hour a week ago": {From: t0.Add(390_000 * time.Second), To: t0.Add(393_600 * time.Second)},
	} {
		q.Limit = 100
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				var runs []jobhost.Run
				if err := s.View(b.Context(), func(tx jobhost.Tx) (err error) {
					runs, err = tx.QueryRuns(q)
					return err
				}); err != nil || len(runs) != q.Limit {
					b.Fatalf("%d runs, %v", len(runs), err)
				}
			}
		})
	}
	b.Run("count all", func(b *testing.B) {
		for b.Loop() {
			n := 0
			if err := s.View(b.Context(), func(tx jobhost.Tx) (err error) {
				n, err = tx.CountRuns(jobhost.RunQuery{})
				return err
			}); err != nil || n != 1_000_000 {
				b.Fatalf("%d runs, %v", n, err)
			}
		}
	})
}

// BenchmarkListOfLargeRuns reads a page of 500 runs with 64 KiB of data each, which a list leaves out.
func BenchmarkListOfLargeRuns(b *testing.B) {
	s, err := Open(filepath.Join(b.TempDir(), "jobhost.db"), Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const n = 500
	for i := range n {
		r := succeeded(testRun(i, "a", t0.Add(time.Duration(i)*time.Second)), t0.Add(time.Hour))
		r.Data = bytes.Repeat([]byte("7"), 64<<10)
		if err := s.Update(b.Context(), func(tx jobhost.Tx) error { return tx.PutRuns(r) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		var runs []jobhost.Run
		if err := s.View(b.Context(), func(tx jobhost.Tx) (err error) {
			runs, err = tx.QueryRuns(jobhost.RunQuery{Limit: n})
			return err
		}); err != nil || len(runs) != n {
			b.Fatalf("%d runs, %v", len(runs), err)
		}
	}
}
