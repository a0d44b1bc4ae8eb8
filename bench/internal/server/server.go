//go:build unix

// Package server starts servers that other schedulers need, each private to its caller: data in a folder of its own, on a
// socket there or on free ports of the loopback, and gone when it is closed.
package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Server is a running server.
type Server struct {
	Address string // the folder of PostgreSQL's socket, the path of Redis's, the URL of Dkron
	PID     int

	dir     string
	as      *syscall.SysProcAttr
	command *exec.Cmd
	ended   chan struct{} // closed once the command has ended
	how     error         // it ended, then
}

// patience is how long a server may take until it answers, or until it has stopped.
const patience = 30 * time.Second

// Postgres starts a PostgreSQL server with its default settings and a superuser named bench, who needs no password. The
// server does not run as root: then it belongs to the user postgres or, without one, nobody.
func Postgres() (*Server, error) {
	initdb, err := find("initdb")
	if err != nil {
		return nil, err
	}
	postgres, err := find("postgres")
	if err != nil {
		return nil, err
	}
	s, err := newServer("postgres", "nobody")
	if err != nil {
		return nil, err
	}
	data := filepath.Join(s.dir, "data")
	c := exec.Command(initdb, "--pgdata="+data, "--username=bench", "--auth=trust", "--encoding=UTF8", "--locale=C") //nolint:gosec // found by name
	c.Dir, c.SysProcAttr = s.dir, s.as
	if out, err := c.CombinedOutput(); err != nil {
		return nil, errors.Join(fmt.Errorf("initdb: %w: %s", err, out), os.RemoveAll(s.dir))
	}
	s.Address = s.dir
	ready := func() bool { // the last line of this file says it
		pid, err := os.ReadFile(filepath.Join(data, "postmaster.pid"))
		return err == nil && strings.HasSuffix(strings.TrimSpace(string(pid)), "ready")
	}
	return s, s.start(ready, postgres, "-D", data, "-k", s.dir, "-c", "listen_addresses=")
}

// Redis starts a Redis server that keeps everything in memory or, when durable, writes each change to a file before it
// answers.
func Redis(durable bool) (*Server, error) {
	redis, err := find("redis-server")
	if err != nil {
		return nil, err
	}
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	s.Address = filepath.Join(s.dir, "redis.sock")
	exists := func() bool { _, err := os.Stat(s.Address); return err == nil }
	args := []string{"--port", "0", "--unixsocket", s.Address, "--dir", s.dir, "--save", ""}
	if durable {
		args = append(args, "--appendonly", "yes", "--appendfsync", "always")
	}
	return s, s.start(exists, redis, args...)
}

// Dkron starts a Dkron server that is the whole cluster. The program is the path of its binary.
func Dkron(program string) (*Server, error) {
	s, err := newServer()
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(3)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(s.dir))
	}
	s.Address = "http://127.0.0.1:" + ports[0]
	leads := func() bool {
		a, err := http.Get(s.Address + "/v1/isleader")
		return err == nil && a.Body.Close() == nil && a.StatusCode == http.StatusOK
	}
	return s, s.start(leads, program, "agent", "--server", "--bootstrap-expect=1", "--disable-usage-stats", "--log-level=error",
		"--data-dir="+s.dir, "--http-addr=127.0.0.1:"+ports[0], "--bind-addr=127.0.0.1:"+ports[1], "--rpc-port="+ports[2],
		"--advertise-addr=127.0.0.1")
}

// freePorts finds ports of the loopback that nobody listens on.
func freePorts(n int) (ports []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() //nolint:errcheck // nobody was served
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// find looks for a program on the path and where Debian keeps those of PostgreSQL.
func find(program string) (string, error) {
	if file, err := exec.LookPath(program); err == nil {
		return file, nil
	}
	files, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + program)
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("%s is not installed", program)
	}
	return slices.Max(files), nil
}

// newServer makes the folder of a server, which belongs to the first of the users that there is if this process is root's.
func newServer(users ...string) (*Server, error) {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return nil, err
	}
	// An interrupt from the terminal is for the measuring command, which then stops its servers.
	s := &Server{dir: dir, ended: make(chan struct{}), as: &syscall.SysProcAttr{Setpgid: true}}
	if os.Getuid() != 0 || len(users) == 0 {
		return s, nil
	}
	for _, name := range users {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2, os.Chown(dir, int(uid), int(gid))); err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
		s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		return s, nil
	}
	return nil, errors.Join(fmt.Errorf("there is none of the users %q to run the server", users), os.RemoveAll(dir))
}

// start starts the program and waits until it answers. After an error there is no server.
func (s *Server) start(answers func() bool, program string, args ...string) error {
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	defer log.Close()                          //nolint:errcheck // the server has it
	s.command = exec.Command(program, args...) //nolint:gosec // found by name, or what the caller asked for
	s.command.Dir, s.command.SysProcAttr = s.dir, s.as
	s.command.Stdout, s.command.Stderr = log, log
	if err := s.command.Start(); err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	s.PID = s.command.Process.Pid
	go func() { // Close waits for it
		defer close(s.ended)
		s.how = s.command.Wait()
	}()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		if answers() {
			return nil
		}
		select {
		case <-s.ended:
			said, _ := os.ReadFile(log.Name())
			return errors.Join(fmt.Errorf("%s ended at once: %w: %s", program, s.how, said), os.RemoveAll(s.dir))
		default:
		}
	}
	return errors.Join(fmt.Errorf("%s does not answer after %v", program, patience), s.Close())
}

// Close stops the server with all that it started, and removes its data.
func (s *Server) Close() error {
	err := s.command.Process.Signal(os.Interrupt)
	if err == nil {
		select {
		case <-s.ended:
		case <-time.After(patience):
			err = fmt.Errorf("%s does not stop", s.command.Path)
		}
	}
	if kill := syscall.Kill(-s.PID, syscall.SIGKILL); !errors.Is(kill, syscall.ESRCH) {
		err = errors.Join(err, kill)
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
