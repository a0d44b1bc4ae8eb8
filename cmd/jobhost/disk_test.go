//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func init() { programs["jobhost-on-a-small-disk"] = onASmallDisk }

// onASmallDisk is jobhost on a disk on which no file gets larger than 5 MiB, until SIGUSR1 makes room.
func onASmallDisk() {
	signal.Ignore(syscall.SIGXFSZ)
	limit := func(n uint64) {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: n, Max: 1 << 40}); err != nil {
			fmt.Fprintln(os.Stderr, "setrlimit:", err)
		}
	}
	limit(5 << 20)
	room := make(chan os.Signal, 1)
	signal.Notify(room, syscall.SIGUSR1)
	go func() {
		<-room
		limit(1 << 40)
	}()
	main()
}

func TestFR54AFullDisk(t *testing.T) {
	t.Parallel()
	t.Run("FR-54 the system refuses to make the file larger, and then has room again", func(t *testing.T) {
		// A firing needs twice the room of what fills the disk, so that none fits into what is left.
		f := newFolder(t, `
scheduler: {poll_interval: 100ms}
jobs:
  - {name: fill, plugin: guest, allow_concurrent: true}
  - {name: tick, plugin: ok, schedule: cron * * * * * *, data: {pad: `+strings.Repeat("x", 120_000)+`}}
`)
		f.program = "jobhost-on-a-small-disk"
		p := f.serve()
		p.await("first firing", jobhost.RunQuery{Job: "tick"}, some)
		data, err := json.Marshal(map[string]any{"do": []string{"print " + strings.Repeat("x", 60_000)}})
		if err != nil {
			t.Fatal(err)
		}
		var accepted []jobhost.RunID
		p.awaitProbe("full disk", func(status int, body string) bool {
			if status == http.StatusOK {
				if id, err := jobhost.One(p.api.Enqueue(t.Context(), []jobhost.EnqueueRequest{{Job: "fill", Data: data}})); err == nil {
					accepted = append(accepted, id)
				}
			}
			return status == http.StatusServiceUnavailable && strings.Contains(body, string(jobhost.StoreFull))
		})

		// It claims nothing and answers every question, also for a copy.
		full := time.Now()
		p.isFullFor(3 * time.Second)
		started, err := p.api.Runs(t.Context(), jobhost.RunQuery{From: full})
		if err != nil || len(started) != 0 {
			t.Errorf("runs that started on the full disk:%s, %v", brief(started), err)
		}
		if s, err := jobhost.One(p.api.Status(t.Context(), []jobhost.Name{"tick"})); err != nil || s.Last == nil {
			t.Errorf("the status is not answered: %+v, %v", s, err)
		}
		if st, err := p.api.StoreStats(t.Context()); err != nil || st.Size > 5<<20 || st.Jobs != 2 {
			t.Errorf("the statistics are not answered: %+v, %v", st, err)
		}
		if err := p.api.BackupStore(t.Context(), io.Discard); err != nil {
			t.Errorf("there is no backup: %v", err)
		}

		p.signal(syscall.SIGUSR1)
		room := time.Now()
		p.awaitProbe("room", func(status int, _ string) bool { return status == http.StatusOK })
		p.await("firing on a disk with room", jobhost.RunQuery{Job: "tick", From: room, States: []jobhost.RunState{jobhost.RunSucceeded}}, some)
		p.await("end of every run that was accepted", jobhost.RunQuery{IDs: accepted, Limit: 1000}, func(runs []jobhost.Run) bool {
			for _, r := range runs {
				if r.State != jobhost.RunSucceeded {
					return false
				}
			}
			return len(runs) == len(accepted) && len(runs) > 10
		})
		p.stop()
	})
}

// isFullFor checks that the host keeps saying for a while that its store is full.
func (p *process) isFullFor(d time.Duration) {
	p.Helper()
	for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if status, body := p.probe(); status != http.StatusServiceUnavailable || !strings.Contains(body, string(jobhost.StoreFull)) {
			p.Fatalf("on a full disk the host answers %d %s", status, body)
		}
	}
}
