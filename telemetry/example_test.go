package telemetry_test

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/telemetry"
)

func ExampleNew() {
	ctx := context.Background()
	tel, err := telemetry.New(ctx, telemetry.Config{Version: "v1.0.0", Node: "node-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	run := tel.Middleware()(func(context.Context, jobhost.Call) jobhost.Outcome {
		return jobhost.Outcome{Output: []byte("done")}
	})
	out := run(ctx, jobhost.Call{Run: jobhost.Run{ID: "019b8d2fd4fa00112233445566778899", Job: "greet"}})
	fmt.Println(string(out.Output), tel.Shutdown(ctx))
	// Output: done <nil>
}
