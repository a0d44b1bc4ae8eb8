package main

import (
	"bufio"
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

// follow runs `jobhost events` and returns its lines. It triggers a job until the first one comes, since nobody can see
// from outside when it listens.
func (p *process) follow(args ...string) (lines <-chan string, end func(syscall.Signal) int) {
	p.Helper()
	cmd := p.command(append([]string{"events"}, args...)...)
	var said lockedBuffer
	cmd.Stderr = &said
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.Fatal(err)
	}
	heard := make(chan string, 1000)
	go func() {
		defer close(heard)
		for s := bufio.NewScanner(out); s.Scan(); {
			heard <- s.Text()
		}
	}()
	p.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended long ago
	})
	for range 500 {
		if _, err := jobhost.One(p.api.Trigger(p.Context(), []jobhost.TriggerRequest{{Job: "fails"}})); err != nil {
			p.Fatal(err)
		}
		if len(heard) > 0 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	return heard, func(sig syscall.Signal) int {
		p.Helper()
		if sig != 0 {
			if err := cmd.Process.Signal(sig); err != nil {
				p.Fatal(err)
			}
		}
		for range heard { // until it has said everything
		}
		_ = cmd.Wait() // how it ended is in its state
		if sig == 0 && said.String() != "the host has stopped\n" {
			p.Errorf("it said %q", said.String())
		}
		return cmd.ProcessState.ExitCode()
	}
}

func TestEventsAreFollowed(t *testing.T) {
	t.Parallel()
	f := newFolder(t, "jobs: [{name: fails, plugin: trap, retry: {max_retries: 1, delay: 1h}}, {name: other, plugin: ok}]\n")
	p := f.serve()
	t.Run("a line an event, until an interrupt", func(t *testing.T) {
		lines, end := p.follow()
		want := []string{" run.started fails run=", " run.failed fails run=", " run.retry fails run="}
		for i := range 3 { // it may begin in the middle of a run
			line := <-lines
			at := 0
			for at < 3 && !strings.Contains(line, want[at]) {
				at++
			}
			if at == 3 {
				t.Errorf("line %d is %q", i, line)
			}
			if strings.Contains(line, "failed") && !strings.HasSuffix(line, " error=SCHEDULING_UNEXPECTED_001") {
				t.Errorf("a failure is told as %q", line)
			}
		}
		if code := end(syscall.SIGINT); code != 0 {
			t.Errorf("exit code %d after an interrupt", code)
		}
	})
	t.Run("in JSON, of one job, until the host stops", func(t *testing.T) {
		lines, end := p.follow("--job", "fails", "-o", "json")
		if _, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: "other"}})); err != nil {
			t.Fatal(err)
		}
		if _, err := jobhost.One(p.api.Pause(t.Context(), []jobhost.Target{{Job: "fails"}})); err != nil {
			t.Fatal(err)
		}
		for line := range lines {
			var e jobhost.Event
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Job != "fails" || e.Time.IsZero() {
				t.Fatalf("got %q, %v", line, err)
			}
			if e.Topic == jobhost.TopicJobPaused {
				break
			}
		}
		p.stop()
		if code := end(0); code != 0 {
			t.Errorf("exit code %d after the host's stop", code)
		}
	})
}
