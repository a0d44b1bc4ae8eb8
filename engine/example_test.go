package engine_test

import (
	"context"
	"fmt"
	"log"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

// greeter runs jobs that are Go functions. Package host has the runner for WebAssembly modules.
type greeter struct{}

func (greeter) Run(_ context.Context, call jobhost.Call) jobhost.Outcome {
	call.Sink.Log(0, "about to greet")
	return jobhost.Outcome{Output: []byte("hello, " + call.Run.Job)}
}

func (greeter) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "greeter", Ready: true}}, nil
}

func Example() {
	store := memstore.New(memstore.Config{})
	e, err := engine.New(store, greeter{}, engine.Defaults())
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	job := jobhost.NewJob("world", "greeter", jobhost.NewTrigger("nightly", "cron 0 3 * * * tz=Europe/Berlin"))
	if _, err := jobhost.One(e.Schedule(ctx, []jobhost.JobDef{job})); err != nil {
		log.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- e.Serve(ctx) }()

	// Jobs run by their triggers from now on, and whenever somebody asks:
	id, err := jobhost.One(e.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "world"}}))
	if err != nil {
		log.Fatal(err)
	}
	for entry := range e.Log(ctx, id, jobhost.LogQuery{Follow: true}) { // until the run has ended
		fmt.Println(entry.Msg)
	}
	out, _ := e.Output(ctx, id)
	fmt.Println(string(out))

	cancel()
	fmt.Println(<-stopped)
	// Output:
	// about to greet
	// hello, world
	// <nil>
}
