package api_test

import (
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost/api"
)

func TestAServerTellsWhichNodeItIs(t *testing.T) {
	want := api.Self{Node: "n:1:x", State: "Draining"}
	cfg := api.Defaults()
	cfg.Self = func() api.Self { return want }
	socket := filepath.Join(t.TempDir(), "s")
	server, err := api.NewServer(socket, api.NewHandler(fake{}, cfg), cfg)
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(t.Context()) }()
	t.Cleanup(func() {
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	c, err := api.Dial(socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	got, err := c.Self(t.Context())
	same(t, "error", err, nil)
	same(t, "self", got, want)
}
