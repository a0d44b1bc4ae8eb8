// Package jobhost is what a job written in Go imports. It needs the standard library alone.
//
//	func main() { jobhost.Main(handle) }
//
//	func handle(ctx context.Context, run *jobhost.Run) error {
//		var d struct{ Name string }
//		if err := run.Data(&d); err != nil {
//			return err
//		}
//		run.Log.Info("greeting", slog.String("name", d.Name))
//		return run.Output("Hello, " + d.Name)
//	}
//
// The types:
//
//   - A [Handler] does the work of one run. What it returns is what became of the run.
//   - [Run] has the facts of the run, its data, log, result, progress and durable values.
//   - [Failure] is an error with a code of the job's own, or one that no retry would mend.
//   - [Span] is a part of the run that shows up in its trace.
//
// [Send] makes HTTP requests, and package jobhttp does it with the types of net/http. Package jobhosttest runs a handler in a
// test, without WebAssembly.
//
// A job is built as a command, with [Main], or as a reactor, with [Call] and an empty main. It cannot be both:
//
//	GOOS=wasip1 GOARCH=wasm go build -o job.wasm
//	GOOS=wasip1 GOARCH=wasm go build -buildmode=c-shared -o job.wasm
//
// A module imports only what its job uses, and `jobhost plugin inspect` lists that. Built for any other system, the job is
// a program that reads its data from standard input, which is handy while one writes it.
//
// What bites: a call of the host holds up all goroutines, since a guest has one thread. The context is cancelled when the
// run is asked to stop, and the host ends the guest some seconds later, or at the deadline, whatever it is doing then.
// Nothing in memory survives a run.
package jobhost
