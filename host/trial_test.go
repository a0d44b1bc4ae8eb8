package host_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
	"github.com/jobhost/jobhost/host/internal/wasmtest"
)

func TestAnInstanceIsMadeAndNotCalled(t *testing.T) {
	g := newGuest()
	g.Data(16, []byte("started"))
	g.Start(g.Func("->", "", g.call("log", 0, 16, 7)))
	starts := g.reactor(wasmtest.Op(wasmtest.Unreachable))
	g = newGuest()
	g.Start(g.Func("->", "", wasmtest.Op(wasmtest.Unreachable)))
	h := newHost(t, host.Defaults(), map[string][]byte{"starts": starts, "traps": g.reactor(zero)})
	s := &sink{}
	if err := h.Instantiate(t.Context(), jobhost.Call{Plugin: "starts", Run: sample(""), Sink: s}); err != nil || s.text() != "started" {
		t.Errorf("got %v, log %q", err, s.text())
	}
	if err := h.Instantiate(t.Context(), jobhost.Call{Plugin: "traps", Run: sample("")}); err == nil || !strings.Contains(err.Error(), "unreachable") {
		t.Errorf("got %v", err)
	}
	if err := h.Instantiate(t.Context(), jobhost.Call{Plugin: "absent", Run: sample("")}); jobhost.CodeOf(err) != jobhost.NotFoundPlugin {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Instantiate(ctx, jobhost.Call{Plugin: "starts", Run: sample("")}); err == nil {
		t.Error("an instance was made after the end")
	}
}
