package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/boltstore"
	"github.com/jobhost/jobhost/engine"
)

// anything runs nothing and knows one plugin.
type anything struct{ nobody }

func (anything) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "p", Ready: true}}, nil
}

func TestFR45TheFirstPageComesAtOnce(t *testing.T) {
	t.Run("FR-45 5,000 jobs, 200,000 runs", func(t *testing.T) {
		const jobs, runs, batch = 5000, 200_000, 10_000
		store, err := boltstore.Open(filepath.Join(t.TempDir(), "jobhost.db"), boltstore.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		e, err := engine.New(store, anything{}, engine.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		defs := make([]jobhost.JobDef, jobs)
		for i := range defs {
			defs[i] = jobhost.NewJob(fmt.Sprintf("job%04d", i), "p", jobhost.NewTrigger("t", "cron 0 0 3 * * *"))
		}
		for _, r := range e.Schedule(t.Context(), defs) {
			if r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		now := time.Now().UTC().Truncate(time.Second)
		for n := 0; n < runs; n += batch {
			rs := make([]jobhost.Run, batch)
			for i := range rs {
				at := now.Add(-time.Duration(n+i) * time.Second)
				rs[i] = jobhost.Run{
					ID: jobhost.NewRunID(at, [10]byte{byte(n + i), byte((n + i) >> 8), byte((n + i) >> 16)}), Job: defs[(n+i)%jobs].Name,
					Kind: jobhost.KindSchedule, Attempt: 1, ScheduledAt: at, State: jobhost.RunSucceeded, Node: "n", StartedAt: at, EndedAt: at,
				}
			}
			if err := store.Update(t.Context(), func(tx jobhost.Tx) error { return tx.PutRuns(rs...) }); err != nil {
				t.Fatal(err)
			}
		}
		h := api.NewHandler(e, api.Defaults())
		for _, target := range []string{"/v1/jobs", "/v1/jobs?after=job4000", "/v1/runs", "/v1/runs?job=job0042", "/v1/runs?skip=1000"} {
			took := time.Hour
			for range 3 { // a machine that is busy with something else says nothing about the list
				began := time.Now()
				w := httptest.NewRecorder()
				h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
				took = min(took, time.Since(began))
				var page []map[string]any
				if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || w.Code != http.StatusOK || len(page) == 0 || len(page) > api.DefaultPage {
					t.Fatalf("%s: %d, %d items, %v", target, w.Code, len(page), err)
				}
			}
			t.Logf("%s: %v", target, took)
			if took > 200*time.Millisecond {
				t.Errorf("%s took %v; want less than 200ms", target, took)
			}
		}
	})
}

func TestSchedulesAreShownAsPeopleWriteThem(t *testing.T) {
	for in, want := range map[string]string{
		"every 00:00:30":                    "every 30s",
		"every 01:30:00 x3 calendar=nights": "every 1h30m x3 calendar=nights",
		"every 48h":                         "every 48h",
		"every 10m":                         "every 10m",
		"cron 0 0 3 * * * tz=Europe/Berlin": "cron 0 0 3 * * * tz=Europe/Berlin",
		"manual":                            "manual",
		"what a newer host may have":        "what a newer host may have",
	} {
		if got := scheduleText(in); got != want {
			t.Errorf("scheduleText(%q) is %q, want %q", in, got, want)
		}
	}
}
