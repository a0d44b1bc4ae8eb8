package api

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/jobhost/jobhost"
)

// Server serves a handler on a Unix socket.
type Server struct {
	l    net.Listener
	http *http.Server
	end  context.CancelCauseFunc // of every request's context
	cfg  Config
}

// socketMode lets the owner of the process steer it, and nobody else.
const socketMode = 0o600

const (
	maxHead  = 64 << 10 // bytes of a request's head
	maxConns = 512      // connections at one time; each takes a file descriptor, which runs need too
)

// NewServer listens on the socket at path, which it creates with mode 0600. A socket that a dead process left there is
// replaced; one that is answered is an error with [jobhost.NotServing], and so is one that cannot be made. Two processes
// that start at the same time can both take the place of a dead one; the lock of their data folder is what stops that.
func NewServer(path string, h http.Handler, cfg Config) (*Server, error) {
	l, err := listen(path)
	if err != nil {
		return nil, err
	}
	return newServer(l, h, cfg), nil
}

func newServer(l net.Listener, h http.Handler, cfg Config) *Server {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ctx, end := context.WithCancelCause(context.Background())
	l = limitConns(l, maxConns)
	return &Server{l: l, end: end, cfg: cfg, http: &http.Server{
		Handler:           h,
		ReadHeaderTimeout: cfg.HeaderTimeout,
		IdleTimeout:       cfg.IdleTimeout,
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(cfg.Log.Handler(), slog.LevelWarn),
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}}
}

func listen(path string) (net.Listener, error) {
	if err := removeStale(path); err != nil {
		return nil, err
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		e := unheard(path, err)
		if errors.Is(err, syscall.EINVAL) {
			e.Msg = fmt.Sprintf("socket path %s has %d characters, about 100 are the most a system takes", path, len(path))
			e.Hint = "set http.socket, or a data_dir with a shorter path"
		}
		return nil, e
	}
	if err := os.Chmod(path, socketMode); err != nil {
		_ = l.Close() // the first error is the one to tell
		return nil, unheard(path, err)
	}
	return l, nil
}

// removeStale makes room at path, unless somebody answers there or it is no socket.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return unheard(path, err)
	case info.Mode().Type() != fs.ModeSocket:
		e := unheard(path, errors.New("the file there is no socket"))
		e.Hint = "move it away, or set http.socket"
		return e
	}
	conn, err := net.Dial("unix", path)
	if err == nil {
		_ = conn.Close() // it was only to see whether somebody is there
		e := unheard(path, errors.New("another process is serving there"))
		e.Hint = "stop it, or use another data_dir"
		return e
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return unheard(path, err)
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unheard(path, err)
	}
	return nil
}

func unheard(path string, err error) *jobhost.Error {
	return &jobhost.Error{Code: jobhost.NotServing, Op: "api.listen", Msg: fmt.Sprintf("socket %s: %v", path, err), Err: err}
}

// Serve answers requests until ctx ends. Then it removes the socket and takes no more. Requests get [Config.Linger] to end
// by themselves, as those do that follow a run which has ended; the rest, which may wait for ever, is told to end and gets
// [Config.StopTimeout] for it. Then it returns nil, or an error when it had to cut requests off. It can be called once.
func (s *Server) Serve(ctx context.Context) error {
	stopped := make(chan error, 1)
	unhook := context.AfterFunc(ctx, func() { stopped <- s.stop(ctx) })
	err := s.http.Serve(s.l)
	if unhook() { // the socket broke before ctx ended
		s.end(err)
		return errors.Join(err, s.http.Close())
	}
	return <-stopped
}

// Close stops listening without serving, for a start that fails later.
func (s *Server) Close() error {
	s.end(context.Canceled)
	return s.l.Close()
}

func (s *Server) stop(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	if s.within(ctx, s.cfg.Linger) == nil {
		return nil
	}
	s.end(&jobhost.Error{Code: jobhost.NotServing, Op: "api.serve", Msg: "the server is stopping"})
	if err := s.within(ctx, s.cfg.StopTimeout); err != nil {
		return errors.Join(err, s.http.Close())
	}
	return nil
}

// within waits for the end of all requests. No new ones are taken.
func (s *Server) within(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.http.Shutdown(ctx)
}
