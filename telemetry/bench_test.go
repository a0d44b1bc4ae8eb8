package telemetry

import (
	"context"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/jobhost/jobhost"
)

func BenchmarkRun(b *testing.B) {
	done := func(context.Context, jobhost.Call) jobhost.Outcome { return jobhost.Outcome{Digest: "abc"} }
	now := time.Now()
	call := jobhost.Call{Plugin: "p", Run: jobhost.Run{
		ID: "019b8d2fd4fa00112233445566778899", Job: "j", Trigger: "t", Kind: jobhost.KindSchedule, Attempt: 1,
		ScheduledAt: now, StartedAt: now, Node: "n",
	}}
	b.Run("disabled", func(b *testing.B) {
		run := (&Telemetry{}).Middleware()(done)
		b.ReportAllocs()
		for b.Loop() {
			run(b.Context(), call)
		}
	})
	b.Run("enabled", func(b *testing.B) {
		sink := fake(func(context.Context, []sdktrace.ReadOnlySpan) error { return nil })
		tel, err := start(b.Context(), Config{}, sink)
		if err != nil {
			b.Fatal(err)
		}
		run := tel.Middleware()(done)
		b.ReportAllocs()
		for b.Loop() {
			run(b.Context(), call)
		}
		if err := tel.Shutdown(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
}
