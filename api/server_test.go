package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// pipes is a listener whose connections are pipes, so that a server can live in a bubble.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe", Net: "unix"} }

func (p *pipes) dial(ctx context.Context) (net.Conn, error) {
	ours, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// bubble runs do beside a server over s and then stops the server, which must end without an error.
func bubble(t *testing.T, s jobhost.Scheduler, do func(t *testing.T, p *pipes, stop func() error)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		cfg := api.Defaults()
		cfg.Now = time.Now
		p := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		srv := api.NewServerOn(p, api.NewHandler(s, cfg), cfg)
		go func() { served <- srv.Serve(ctx) }()
		var once sync.Once
		var err error
		stop := func() error {
			once.Do(func() {
				cancel()
				err = <-served
			})
			return err
		}
		do(t, p, stop)
		if err := stop(); err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
}

func connect(t *testing.T, p *pipes) net.Conn {
	t.Helper()
	c, err := p.dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() }) // a pipe's close does not fail
	return c
}

func send(t *testing.T, c net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
}

func TestASlowHeadIsCutOff(t *testing.T) {
	bubble(t, steady(), func(t *testing.T, p *pipes, _ func() error) {
		t.Helper()
		begin := time.Now()
		c := connect(t, p)
		send(t, c, "GET /healthz HTTP/1.1\r\nHost:")
		if _, err := io.ReadAll(c); err != nil {
			t.Fatal(err)
		}
		if got := time.Since(begin); got != api.Defaults().HeaderTimeout {
			t.Errorf("cut off after %v; want %v", got, api.Defaults().HeaderTimeout)
		}
	})
}

func TestASlowBodyIsCutOff(t *testing.T) {
	bubble(t, steady(), func(t *testing.T, p *pipes, _ func() error) {
		t.Helper()
		begin := time.Now()
		c := connect(t, p)
		send(t, c, "PUT /v1/jobs/a HTTP/1.1\r\nHost: jobhost\r\nContent-Length: 100\r\n\r\n{")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if got := time.Since(begin); got != api.Defaults().BodyTimeout || resp.StatusCode != http.StatusRequestTimeout {
			t.Errorf("%s after %v; want 408 after %v", resp.Status, got, api.Defaults().BodyTimeout)
		}
	})
}

func TestAClientThatDoesNotReadIsDropped(t *testing.T) {
	var ended chan time.Time // of the bubble
	s := steady()
	s.log = func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		return func(yield func(jobhost.LogEntry, error) bool) {
			for yield(jobhost.LogEntry{Msg: strings.Repeat("x", 8<<10)}, nil) {
			}
			ended <- time.Now()
		}
	}
	bubble(t, s, func(t *testing.T, p *pipes, _ func() error) {
		t.Helper()
		ended = make(chan time.Time, 1)
		begin := time.Now()
		send(t, connect(t, p), "GET /v1/runs/"+string(id1)+"/logs?follow=true HTTP/1.1\r\nHost: jobhost\r\n\r\n")
		if got := (<-ended).Sub(begin); got != api.Defaults().WriteTimeout {
			t.Errorf("dropped after %v; want %v", got, api.Defaults().WriteTimeout)
		}
	})
}

func TestALongWaitIsNoSlowClient(t *testing.T) {
	s := steady()
	s.trigger = func(ctx context.Context, _ []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
		select {
		case <-time.After(10 * time.Hour):
			return ok(aRun)
		case <-ctx.Done():
			return []jobhost.Result[jobhost.Run]{{Err: context.Cause(ctx)}}
		}
	}
	bubble(t, s, func(t *testing.T, p *pipes, _ func() error) {
		t.Helper()
		c := connect(t, p)
		for range 2 { // the deadline of one answer must not stand in the way of the next
			send(t, c, "POST /v1/jobs/a/trigger HTTP/1.1\r\nHost: jobhost\r\nContent-Length: 2\r\n\r\n{}")
			resp, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != http.StatusOK {
				t.Errorf("got %s", resp.Status)
			}
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close() // it was read to its end
		}
	})
}

func TestALogThatIsSilentForLongEndsWell(t *testing.T) {
	s := steady()
	s.log = func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		return func(yield func(jobhost.LogEntry, error) bool) {
			yield(jobhost.LogEntry{Seq: 1}, nil)
			time.Sleep(time.Hour)
		}
	}
	bubble(t, s, func(t *testing.T, p *pipes, _ func() error) {
		t.Helper()
		c := connect(t, p)
		send(t, c, "GET /v1/runs/"+string(id1)+"/logs?follow=true HTTP/1.1\r\nHost: jobhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || strings.Count(string(b), "\n") != 1 {
			t.Errorf("got %q, %v; want one line and its end", b, err)
		}
	})
}

func TestStoppingEndsThoseThatFollow(t *testing.T) {
	s := steady()
	s.log = func(ctx context.Context, _ jobhost.RunID, _ jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		return func(yield func(jobhost.LogEntry, error) bool) {
			yield(jobhost.LogEntry{Seq: 1}, nil)
			<-ctx.Done()
			yield(jobhost.LogEntry{}, ctx.Err())
		}
	}
	bubble(t, s, func(t *testing.T, p *pipes, stop func() error) {
		t.Helper()
		begin := time.Now()
		c := connect(t, p)
		send(t, c, "GET /v1/runs/"+string(id1)+"/logs?follow=true HTTP/1.1\r\nHost: jobhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		if !lines.Scan() {
			t.Fatal(lines.Err())
		}
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		if !lines.Scan() || !strings.Contains(lines.Text(), string(jobhost.NotServing)) || !strings.Contains(lines.Text(), "stopping") {
			t.Errorf("last line %q; want one that says why", lines.Text())
		}
		if lines.Scan() || lines.Err() != nil {
			t.Errorf("then %q, %v; want the end", lines.Text(), lines.Err())
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		if got := time.Since(begin); got > 2*api.Defaults().Linger {
			t.Errorf("stopping took %v; a follower must not hold it up", got)
		}
	})
}

func TestStoppingLetsRequestsEndThatEndByThemselves(t *testing.T) {
	s := steady()
	s.log = func(ctx context.Context, _ jobhost.RunID, _ jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
		return func(yield func(jobhost.LogEntry, error) bool) {
			select {
			case <-time.After(api.Defaults().Linger / 2):
				yield(jobhost.LogEntry{Msg: "the end"}, nil)
			case <-ctx.Done():
				yield(jobhost.LogEntry{}, ctx.Err())
			}
		}
	}
	bubble(t, s, func(t *testing.T, p *pipes, stop func() error) {
		t.Helper()
		c := connect(t, p)
		send(t, c, "GET /v1/runs/"+string(id1)+"/logs?follow=true HTTP/1.1\r\nHost: jobhost\r\n\r\n")
		synctest.Wait()
		stopped := make(chan error, 1)
		go func() { stopped <- stop() }()
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if b, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(b), "the end") {
			t.Errorf("got %q, %v", b, err)
		}
		if err := <-stopped; err != nil {
			t.Error(err)
		}
	})
}

func TestStoppingGivesUpOnARequestThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := steady()
		s.plugins = func() ([]jobhost.Plugin, error) { <-release; return nil, nil }
		cfg := api.Defaults()
		p := newPipes()
		srv := api.NewServerOn(p, api.NewHandler(s, cfg), cfg)
		ctx, stop := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ctx) }()
		send(t, connect(t, p), "GET /v1/plugins HTTP/1.1\r\nHost: jobhost\r\n\r\n")
		synctest.Wait()
		begin := time.Now()
		stop()
		if err := <-served; !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != cfg.Linger+cfg.StopTimeout {
			t.Errorf("got %v after %v; want the deadline after %v", err, time.Since(begin), cfg.Linger+cfg.StopTimeout)
		}
		close(release)
	})
}

func TestASocket(t *testing.T) {
	start := func(t *testing.T) (stop func()) {
		t.Helper()
		srv, err := api.NewServer("s", api.NewHandler(steady(), api.Defaults()), api.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- srv.Serve(ctx) }()
		return func() {
			cancel()
			if err := <-served; err != nil {
				t.Error(err)
			}
		}
	}
	// A path relative to the working directory is short; a system takes only about 100 bytes.
	t.Run("carries a call, is the owner's alone, and goes with the server", func(t *testing.T) {
		t.Chdir(t.TempDir())
		stop := start(t)
		info, err := os.Stat("s")
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode %o; want 600", got)
		}
		c, err := api.Dial("s")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		runs, err := c.Runs(t.Context(), jobhost.RunQuery{})
		same(t, "error", err, nil)
		same(t, "runs", runs, []jobhost.Run{aRun})
		stop()
		if _, err := os.Stat("s"); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
		_, err = c.Runs(t.Context(), jobhost.RunQuery{})
		e, isOurs := errors.AsType[*jobhost.Error](err)
		if !isOurs || e.Code != jobhost.NotServing || !strings.Contains(e.Hint, "is `jobhost serve` running in this folder?") || !strings.Contains(e.Msg, "cannot reach server s: no such file or directory") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("of a dead process is replaced", func(t *testing.T) {
		t.Chdir(t.TempDir())
		l, err := net.Listen("unix", "s")
		if err != nil {
			t.Fatal(err)
		}
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		start(t)()
	})
	for name, c := range map[string]struct {
		prepare func(t *testing.T)
		path    string
		want    string
	}{
		"of a living process is left alone": {func(t *testing.T) {
			t.Helper()
			t.Cleanup(start(t))
		}, "s", "another process is serving there"},
		"does not replace a file": {func(t *testing.T) {
			t.Helper()
			if err := os.WriteFile("s", []byte("precious"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "s", "the file there is no socket"},
		"with a path that is too long says so": {func(*testing.T) {}, strings.Repeat("s", 200), "has 200 characters"},
		"in no folder says so":                 {func(*testing.T) {}, "no/s", "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			c.prepare(t)
			_, err := api.NewServer(c.path, http.NotFoundHandler(), api.Defaults())
			if jobhost.CodeOf(err) != jobhost.NotServing || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.path) {
				t.Errorf("got %v; want …%s…", err, c.want)
			}
			if _, err := os.Lstat(c.path); c.path == "s" && err != nil {
				t.Errorf("what was there is gone: %v", err)
			}
		})
	}
	t.Run("that never served can be closed", func(t *testing.T) {
		t.Chdir(t.TempDir())
		srv, err := api.NewServer("s", http.NotFoundHandler(), api.Defaults())
		if err != nil {
			t.Fatal(err)
		}
		if err := srv.Close(); err != nil {
			t.Error(err)
		}
		start(t)()
	})
}

func TestAServerOfAnotherKindIsNamed(t *testing.T) {
	html := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) })
	c := api.NewClient("http://h", serve(t, html))
	_, err := c.CountRuns(t.Context(), jobhost.RunQuery{})
	if jobhost.CodeOf(err) != jobhost.Unexpected || !strings.Contains(err.Error(), "http://h answered") || !strings.Contains(err.Error(), "GET /v1/runs/count") {
		t.Errorf("got %v", err)
	}
	wrong := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode([]int{}) })
	rs := api.NewClient("http://h", serve(t, wrong)).Delete(t.Context(), []jobhost.Name{"a"})
	if jobhost.CodeOf(rs[0].Err) != jobhost.Unexpected || !strings.Contains(rs[0].Err.Error(), "answered 0 of 1 items") {
		t.Errorf("got %v", rs[0].Err)
	}
}
