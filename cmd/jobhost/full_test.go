package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func TestFR54AFullStore(t *testing.T) {
	t.Parallel()
	t.Run("FR-54 it is not ready, answers reads, and goes on when there is space", func(t *testing.T) {
		f := newFolder(t, `
store: {max_size: 4MiB}
scheduler: {poll_interval: 100ms, housekeeping_interval: 500ms, history_retention: 5s}
jobs:
  - {name: fill, plugin: guest, allow_concurrent: true}
  - {name: tick, plugin: ok, schedule: cron * * * * * *}
`)
		p := f.serve()
		data, err := json.Marshal(map[string]any{"do": []string{"print " + strings.Repeat("x", 60_000)}})
		if err != nil {
			t.Fatal(err)
		}
		p.await("first firing", jobhost.RunQuery{Job: "tick"}, some)
		began := time.Now()
		p.awaitProbe("full store", func(status int, body string) bool {
			if status == http.StatusOK {
				_, _ = jobhost.One(p.api.Enqueue(t.Context(), []jobhost.EnqueueRequest{{Job: "fill", Data: data}})) // it is refused when it is full
			}
			return status == http.StatusServiceUnavailable && strings.Contains(body, string(jobhost.StoreFull))
		})
		fired, err := p.api.Runs(t.Context(), jobhost.RunQuery{Job: "tick"})
		if err != nil || len(fired) == 0 {
			t.Errorf("reads are not answered: %d runs, %v", len(fired), err)
		}
		if s, err := jobhost.One(p.api.Status(t.Context(), []jobhost.Name{"tick"})); err != nil || s.Name != "tick" {
			t.Errorf("the status is not answered: %v", err)
		}
		p.awaitProbe("space", func(status int, _ string) bool { return status == http.StatusOK })
		p.await("firing after it was full", jobhost.RunQuery{Job: "tick", From: began.Add(5 * time.Second), States: []jobhost.RunState{jobhost.RunSucceeded}}, some)
		p.stop()
	})
}

// probe asks whether the host is ready.
func (p *process) probe() (status int, body string) {
	p.Helper()
	socket := filepath.Join(p.dir, ".jobhost", "jobhost.sock")
	c := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}}
	req, err := http.NewRequestWithContext(p.Context(), http.MethodGet, "http://jobhost/readyz", nil)
	if err != nil {
		p.Fatal(err)
	}
	resp, err := c.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// awaitProbe asks whether the host is ready until pass says that the answer is the one.
func (p *process) awaitProbe(what string, pass func(status int, body string) bool) {
	p.Helper()
	var status int
	var body string
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if status, body = p.probe(); pass(status, body) {
			return
		}
	}
	p.Fatalf("no %s came; the last answer is %d %s", what, status, body)
}
