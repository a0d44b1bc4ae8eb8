package api

import (
	"net"
	"sync"
)

// limited is a listener with a bound on its open connections. One more waits, in the system's queue, until one closes.
type limited struct {
	net.Listener

	room   chan struct{} // a token for each open connection
	closed chan struct{}
	close  func() error
}

func limitConns(l net.Listener, most int) net.Listener {
	out := &limited{Listener: l, room: make(chan struct{}, most), closed: make(chan struct{})}
	out.close = sync.OnceValue(func() error {
		close(out.closed)
		return l.Close()
	})
	return out
}

// Accept implements [net.Listener].
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &counted{Conn: conn, leave: sync.OnceFunc(func() { <-l.room })}, nil
}

// Close implements [net.Listener].
func (l *limited) Close() error { return l.close() }

// counted is a connection that has a token.
type counted struct {
	net.Conn

	leave func()
}

// Close implements [net.Conn].
func (c *counted) Close() error {
	defer c.leave()
	return c.Conn.Close()
}
