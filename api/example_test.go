package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

func scheduler() jobhost.Scheduler {
	e, err := engine.New(memstore.New(memstore.Config{}), plugin{}, engine.Defaults())
	if err != nil {
		panic(err)
	}
	return e
}

func ExampleNewHandler() {
	h := api.NewHandler(scheduler(), api.Defaults())
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(context.Background(), "GET", "/v1/jobs/nightly", nil))
	fmt.Println(w.Code, w.Header().Get("Content-Type"))
	// Output: 404 application/problem+json
}

func ExampleNewServer() {
	cfg := api.Defaults()
	cfg.Now = time.Now
	srv, err := api.NewServer("jobhost.sock", api.NewHandler(scheduler(), cfg), cfg)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	stop()
	fmt.Println(srv.Serve(ctx))
	// Output: <nil>
}

func ExampleDial() {
	c, err := api.Dial("unix:///run/jobhost/jobhost.sock")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = jobhost.One(c.Trigger(context.Background(), []jobhost.TriggerRequest{{Job: "nightly"}}))
	fmt.Println(jobhost.CodeOf(err))
	// Output: SCHEDULING_UNAVAILABLE_001
}

func ExampleNewClient() {
	srv := httptest.NewServer(api.NewHandler(scheduler(), api.Defaults()))
	defer srv.Close()
	c := api.NewClient(srv.URL, srv.Client().Transport)
	plugins, err := c.Plugins(context.Background())
	fmt.Println(plugins[0].Key, err)
	// Output: p <nil>
}
