package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// folder is where a host of a test lives, as a process of its own.
type folder struct {
	*testing.T

	dir     string
	env     []string
	program string // to start; empty: jobhost
}

// newFolder makes a folder with the guests and a configuration.
func newFolder(t *testing.T, config string) *folder {
	t.Helper()
	dir, err := os.MkdirTemp("", "jh") //nolint:usetesting // the path of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	s := sharedFiles(t)
	if err := s.plugins(filepath.Join(dir, "plugins")); err != nil {
		t.Fatal(err)
	}
	// A host whose plugins are compiled already is there at once.
	if err := s.warm(filepath.Join(dir, ".jobhost", "cache")); err != nil {
		t.Fatal(err)
	}
	f := &folder{T: t, dir: dir}
	f.write("jobhost.yaml", config)
	return f
}

func (f *folder) write(name, text string) {
	f.Helper()
	if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
		f.Fatal(err)
	}
}

// command is jobhost with arguments, in the folder.
func (f *folder) command(args ...string) *exec.Cmd {
	cmd := exec.Command(cmp.Or(f.program, "jobhost"), args...)
	cmd.Dir = f.dir
	cmd.Env = append(os.Environ(), f.env...)
	return cmd
}

// process is a running host.
type process struct {
	*folder

	cmd   *exec.Cmd
	log   *lockedBuffer
	api   *api.Client
	ended chan struct{} // closed when it has ended
}

// lockedBuffer can be read while a process writes it.
type lockedBuffer struct {
	mu sync.Mutex

	b bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a host and waits until it fires triggers. It is killed at the end of the test, if it is still there.
func (f *folder) serve() *process {
	f.Helper()
	p := f.launch("serve")
	socket := filepath.Join(f.dir, ".jobhost", "jobhost.sock")
	if err := awaitReady(socket); err != nil {
		f.Fatalf("the host does not serve: %v\n%s", err, p.log)
	}
	var err error
	if p.api, err = api.Dial(socket); err != nil {
		f.Fatal(err)
	}
	return p
}

func (f *folder) launch(args ...string) *process {
	f.Helper()
	p := &process{folder: f, cmd: f.command(args...), log: &lockedBuffer{}, ended: make(chan struct{})}
	p.cmd.Stderr = p.log
	if err := p.cmd.Start(); err != nil {
		f.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // how it ended is in its state
		close(p.ended)
	}()
	f.Cleanup(func() {
		_ = p.cmd.Process.Kill() // it may have ended long ago
		<-p.ended
		if f.Failed() {
			f.Logf("the host's log:\n%s", p.log)
		}
	})
	return p
}

func (p *process) signal(sig syscall.Signal) {
	p.Helper()
	if err := p.cmd.Process.Signal(sig); err != nil {
		p.Fatal(err)
	}
}

// wait returns the exit code, or that of a signal as 128 and more.
func (p *process) wait() int {
	p.Helper()
	select {
	case <-p.ended:
		ws, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		if ok && ws.Signaled() {
			return 128 + int(ws.Signal())
		}
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(30 * time.Second):
		p.Fatalf("the host does not end\n%s", p.log)
		return 0
	}
}

// hears waits until the log has a text.
func (p *process) hears(text string) {
	p.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		if strings.Contains(p.log.String(), text) {
			return
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-p.ended:
			p.Fatalf("it ended (%v) without saying %q", p.cmd.ProcessState, text)
		}
	}
	p.Fatalf("it does not say %q", text)
}

// stop ends the host as a service manager does.
func (p *process) stop() {
	p.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.wait(); code != 0 {
		p.Errorf("exit code %d; want 0", code)
	}
}

// await looks until the history has what is asked for.
func (p *process) await(what string, q jobhost.RunQuery, pass func([]jobhost.Run) bool) []jobhost.Run {
	p.Helper()
	var runs []jobhost.Run
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var err error
		if runs, err = p.api.Runs(p.Context(), q); err != nil {
			p.Fatal(err)
		}
		if pass(runs) {
			return runs
		}
	}
	p.Fatalf("no %s came; there is %s", what, brief(runs))
	return nil
}

// brief lists runs in a form to read.
func brief(runs []jobhost.Run) string {
	var b strings.Builder
	for _, r := range runs {
		fmt.Fprintf(&b, "\n%s %s/%s %s %s due %s started %s", r.ID, r.Job, r.Trigger, r.Kind, r.State, r.ScheduledAt, r.StartedAt)
	}
	return b.String()
}

func some(runs []jobhost.Run) bool { return len(runs) > 0 }
