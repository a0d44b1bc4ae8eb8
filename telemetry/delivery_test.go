package telemetry_test

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/telemetry"
)

// The receiver answers nothing while the runs go on. A middleware that waited for it would hang here.
func TestHangingReceiverDelaysNoRun(t *testing.T) {
	t.Run("FR-52 runs go on while the collector hangs and the queue is full", func(t *testing.T) {
		recv := newHoldingReceiver(t)
		t.Setenv("OTEL_BSP_MAX_QUEUE_SIZE", "8")
		t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "4")
		tel := start(t, telemetry.Config{Flush: time.Minute})
		run := tel.Middleware()(returning(jobhost.Outcome{}))
		dice := newDice()
		for range 4 {
			run(t.Context(), jobhost.Call{Run: newRun(dice)})
		}
		<-recv.arrive // the first batch is on its way and is not answered
		for range 100 {
			run(t.Context(), jobhost.Call{Run: newRun(dice)})
		}
		close(recv.hold)
		shutdown(t, tel)
		if n := recv.count(); n < 8 || n > 16 {
			t.Errorf("%d spans arrived, want the first batch and what fits into the queue", n)
		}
	})
}

func TestMissingReceiverIsOneLogLine(t *testing.T) {
	t.Run("FR-52 runs go on without a collector, which is said once and not by the global handler", func(t *testing.T) {
		clearEnv(t)
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+l.Addr().String())
		t.Setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var handled atomic.Int32
		previous := otel.GetErrorHandler()
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) { handled.Add(1) }))
		t.Cleanup(func() { otel.SetErrorHandler(previous) })
		var log bytes.Buffer // written by one goroutine, which has ended when Shutdown returns

		tel := start(t, telemetry.Config{Logger: slog.New(slog.NewTextHandler(&log, nil)), Flush: time.Minute})
		dice, ran := newDice(), 0
		for range 10 {
			tel.Middleware()(func(context.Context, jobhost.Call) jobhost.Outcome { ran++; return jobhost.Outcome{} })(t.Context(), jobhost.Call{Run: newRun(dice)})
		}
		shutdown(t, tel)
		if ran != 10 {
			t.Errorf("%d of 10 runs ran", ran)
		}
		if n := strings.Count(log.String(), "traces not exported"); n != 1 {
			t.Errorf("%d log lines, want one:\n%s", n, log.String())
		}
		if n := handled.Load(); n != 0 {
			t.Errorf("the global error handler was called %d times", n)
		}
	})
}
