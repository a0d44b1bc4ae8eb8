package jobhost_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/jobhosttest"
)

// A job that counts how often it was run. In its main package, main is jobhost.Main(count).
func Example() {
	count := func(ctx context.Context, run *jobhost.Run) error {
		data := struct{ Step int }{Step: 1}
		if err := run.Data(&data); err != nil {
			return err
		}
		var n int
		if _, err := run.KV.Load("count", &n); err != nil {
			return err
		}
		n += data.Step
		run.Log.InfoContext(ctx, "counted", slog.Int("count", n))
		if err := run.KV.Save("count", n); err != nil {
			return err
		}
		return run.Output(n)
	}

	host := jobhosttest.Host{Data: map[string]int{"step": 20}}
	for range 2 {
		got := host.Run(context.Background(), count)
		fmt.Println(string(got.Output), got.Log[0].Text, got.Err)
	}
	// Output:
	// 20 counted count=20 <nil>
	// 40 counted count=40 <nil>
}

func ExampleMain() {
	if len(os.Args) > 99 { // an example must return
		jobhost.Main(func(_ context.Context, run *jobhost.Run) error {
			return run.Output("done")
		})
	}
	// Output:
}

func ExamplePermanent() {
	handle := func(context.Context, *jobhost.Run) error {
		return jobhost.Permanent(jobhost.Fail("NO_SUCH_SHOP", "there is no shop 7"))
	}
	var host jobhosttest.Host
	got := host.Run(context.Background(), handle)
	fmt.Println(got.Code, got.Permanent, got.Message)
	// Output: NO_SUCH_SHOP true there is no shop 7
}

func ExampleStart() {
	handle := func(ctx context.Context, _ *jobhost.Run) error {
		span := jobhost.Start(ctx, "read orders")
		span.Set("orders", "326")
		span.End(nil)
		return nil
	}
	var host jobhosttest.Host
	got := host.Run(context.Background(), handle)
	fmt.Println(got.Spans[0].Name, got.Spans[0].Attributes, got.Spans[0].OK)
	// Output: read orders map[orders:326] true
}
