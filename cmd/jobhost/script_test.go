package main

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestScripts(t *testing.T) {
	s := sharedFiles(t)
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("XDG_CACHE_HOME", filepath.Join(e.WorkDir, ".cache"))
			e.Setenv("TZ", "Asia/Shanghai")
			for _, cache := range []string{".jobhost/cache", ".cache/jobhost"} {
				if err := s.warm(filepath.Join(e.WorkDir, cache)); err != nil {
					return err
				}
			}
			return s.plugins(filepath.Join(e.WorkDir, "plugins"))
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":      exits,
			"eventually": eventually,
			"serving":    serving,
			"let":        let,
		},
	})
}

// exits runs a command that must end with a code: exits 2 jobhost nonsense.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exits code command [argument]...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		failed, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = failed.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d; want %d", got, want)
	}
}

// eventually runs a command until what it prints matches: eventually 'Ready$' jobhost plugin ls.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: eventually pattern command [argument]...")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		ts.Check(ts.Exec(args[1], args[2:]...))
		if pattern.MatchString(ts.ReadFile("stdout")) {
			return
		}
	}
	ts.Fatalf("it does not come to %s", args[0])
}

// let keeps what a command printed in a variable: let ID.
func let(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 1 || neg {
		ts.Fatalf("usage: let NAME")
	}
	ts.Setenv(args[0], strings.TrimSpace(ts.ReadFile("stdout")))
}

// serving waits until the host of this folder fires triggers.
func serving(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 0 || neg {
		ts.Fatalf("usage: serving")
	}
	if err := awaitReady(ts.MkAbs(filepath.Join(".jobhost", "jobhost.sock"))); err != nil {
		ts.Fatalf("%v", err)
	}
}

// overSocket sends requests to a Unix socket.
func overSocket(socket string) *http.Transport {
	return &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		},
	}
}

// awaitReady waits until a host says that it is ready.
func awaitReady(socket string) error {
	c := http.Client{Transport: overSocket(socket)}
	var last error
	for end := time.Now().Add(4 * time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		resp, err := c.Get("http://jobhost/readyz")
		if err != nil {
			last = err
			continue
		}
		_ = resp.Body.Close() // it is not read
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		last = errors.New(resp.Status)
	}
	return last
}
