package host_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/jobhost/jobhost/host"
)

// The types of records (RFC 1035, RFC 3596).
const (
	typeA     = 1
	typeCNAME = 5
	typeAAAA  = 28
)

// zone says what a name server answers: addresses, and "=name" for another name of the same. It is asked for each lookup of a name,
// with how many there were before.
type zone func(name string, before int) []string

// nameServer answers questions over UDP, as the name server of somebody who is not to be trusted.
type nameServer struct {
	conn net.PacketConn
	zone zone

	mu     sync.Mutex
	before map[string]int // by name and type
}

// newNameServer returns a configuration that resolves names by a server.
func newNameServer(t *testing.T, cfg host.Config, z zone) host.Config {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &nameServer{conn: conn, zone: z, before: map[string]int{}}
	over := make(chan struct{})
	go func() { defer close(over); s.serve() }()
	t.Cleanup(func() { _ = conn.Close(); <-over })
	cfg.Resolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
	return cfg
}

func (s *nameServer) serve() {
	b := make([]byte, 1500)
	for {
		n, from, err := s.conn.ReadFrom(b)
		if err != nil {
			return
		}
		if a := s.answer(b[:n]); a != nil {
			_, _ = s.conn.WriteTo(a, from) // who asked asks again
		}
	}
}

// answer answers a message with one question (RFC 1035, 4).
func (s *nameServer) answer(q []byte) []byte {
	var labels []string
	at := 12
	for at < len(q) && q[at] != 0 {
		end := at + 1 + int(q[at])
		if end > len(q) {
			return nil
		}
		labels = append(labels, string(q[at+1:end]))
		at = end
	}
	if at+5 > len(q) {
		return nil
	}
	name, kind := strings.ToLower(strings.Join(labels, ".")), binary.BigEndian.Uint16(q[at+1:])
	a := append([]byte{q[0], q[1], 0x85, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, q[12:at+5]...)
	s.mu.Lock()
	before := s.before[name+string(rune(kind))]
	s.before[name+string(rune(kind))]++
	s.mu.Unlock()
	owner := name
	for _, v := range s.zone(name, before) {
		if alias, ok := strings.CutPrefix(v, "="); ok {
			a = record(a, owner, typeCNAME, encodeName(alias))
			owner = alias
			continue
		}
		addr := netip.MustParseAddr(v)
		if addr.Is4() && kind == typeA || addr.Is6() && kind == typeAAAA {
			a = record(a, owner, kind, addr.AsSlice())
		}
	}
	return a
}

// record adds a record that nobody may keep.
func record(a []byte, name string, kind uint16, data []byte) []byte {
	a[7]++ // answers
	a = append(a, encodeName(name)...)
	a = append(a, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(len(data)))
	return append(a, data...)
}

func encodeName(name string) (b []byte) {
	for label := range strings.SplitSeq(name, ".") {
		b = append(append(b, byte(len(label))), label...)
	}
	return append(b, 0)
}
