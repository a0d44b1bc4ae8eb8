package api_test

import (
	"context"
	"io"
	"iter"
	"net/http"
	"sync"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// fake is a scheduler whose answers a test chooses. A method that the test did not set must not be called.
type fake struct {
	schedule func([]jobhost.JobDef) []jobhost.Result[jobhost.JobInfo]
	restore  func([]jobhost.Name) []jobhost.Result[jobhost.JobInfo]
	delete   func([]jobhost.Name) []jobhost.Result[struct{}]
	pause    func([]jobhost.Target) []jobhost.Result[struct{}]
	resume   func([]jobhost.Target) []jobhost.Result[struct{}]
	trigger  func(context.Context, []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run]
	enqueue  func([]jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID]
	cancel   func([]jobhost.RunID) []jobhost.Result[struct{}]
	status   func([]jobhost.Name) []jobhost.Result[jobhost.JobStatus]
	runs     func(jobhost.RunQuery) ([]jobhost.Run, error)
	run      func(jobhost.RunID) (jobhost.Run, error)
	count    func(jobhost.RunQuery) (int, error)
	plugins  func() ([]jobhost.Plugin, error)
	next     func(jobhost.NextQuery) ([]jobhost.Slot, error)
	log      func(context.Context, jobhost.RunID, jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error]
	output   func(jobhost.RunID) ([]byte, error)
	explain  func(jobhost.Name) (jobhost.Explanation, error)
	replay   func(jobhost.ReplayRequest) (jobhost.Replayed, error)
	events   func(context.Context) iter.Seq2[jobhost.Event, error]
	nodes    func() ([]jobhost.Node, error)
	drain    func(string) error
}

var _ jobhost.Scheduler = fake{}

func (f fake) Schedule(_ context.Context, defs []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
	return f.schedule(defs)
}

func (f fake) Delete(_ context.Context, names []jobhost.Name) []jobhost.Result[struct{}] {
	return f.delete(names)
}

func (f fake) Pause(_ context.Context, ts []jobhost.Target) []jobhost.Result[struct{}] {
	return f.pause(ts)
}

func (f fake) Resume(_ context.Context, ts []jobhost.Target) []jobhost.Result[struct{}] {
	return f.resume(ts)
}

func (f fake) Trigger(ctx context.Context, reqs []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
	return f.trigger(ctx, reqs)
}

func (f fake) Enqueue(_ context.Context, reqs []jobhost.EnqueueRequest) []jobhost.Result[jobhost.RunID] {
	return f.enqueue(reqs)
}

func (f fake) CancelRuns(_ context.Context, ids []jobhost.RunID) []jobhost.Result[struct{}] {
	return f.cancel(ids)
}

func (f fake) Status(_ context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobStatus] {
	return f.status(names)
}

func (f fake) Runs(_ context.Context, q jobhost.RunQuery) ([]jobhost.Run, error) { return f.runs(q) }

func (f fake) Run(_ context.Context, id jobhost.RunID) (jobhost.Run, error) { return f.run(id) }

func (f fake) CountRuns(_ context.Context, q jobhost.RunQuery) (int, error) { return f.count(q) }

func (f fake) Plugins(context.Context) ([]jobhost.Plugin, error) { return f.plugins() }

func (f fake) Next(_ context.Context, q jobhost.NextQuery) ([]jobhost.Slot, error) { return f.next(q) }

func (f fake) Log(ctx context.Context, id jobhost.RunID, q jobhost.LogQuery) iter.Seq2[jobhost.LogEntry, error] {
	return f.log(ctx, id, q)
}

func (f fake) Output(_ context.Context, id jobhost.RunID) ([]byte, error) { return f.output(id) }

func (f fake) Restore(_ context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobInfo] {
	return f.restore(names)
}

func (f fake) Explain(_ context.Context, name jobhost.Name) (jobhost.Explanation, error) {
	return f.explain(name)
}

func (f fake) Replay(_ context.Context, req jobhost.ReplayRequest) (jobhost.Replayed, error) {
	return f.replay(req)
}

func (f fake) Events(ctx context.Context) iter.Seq2[jobhost.Event, error] { return f.events(ctx) }

func (f fake) Nodes(context.Context) ([]jobhost.Node, error) { return f.nodes() }

func (f fake) Drain(_ context.Context, node string) error { return f.drain(node) }

// dial returns a client of a handler over s, without a socket between them.
func dial(t *testing.T, s jobhost.Scheduler) *api.Client {
	t.Helper()
	return api.NewClient("http://jobhost", serve(t, api.NewHandler(s, api.Defaults())))
}

// loop is a RoundTripper that calls a handler. Unlike a recorder it hands an answer on as it is written.
type loop struct {
	h    http.Handler
	busy sync.WaitGroup
}

// serve returns a RoundTripper for h. The test ends only after all its requests did.
func serve(t testing.TB, h http.Handler) *loop {
	t.Helper()
	l := &loop{h: h}
	t.Cleanup(l.busy.Wait)
	return l
}

func (l *loop) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context())) // a server hears of a client's end only by its connection
	out, in := io.Pipe()
	w := &answer{head: http.Header{}, body: in, first: make(chan *http.Response, 1)}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	l.busy.Go(func() {
		defer func() {
			if v := recover(); v != nil && v != http.ErrAbortHandler { //nolint:errorlint // the very value, as net/http compares it
				panic(v)
			} else if v != nil {
				_ = in.CloseWithError(io.ErrUnexpectedEOF) // a pipe's close does not fail
			}
		}()
		l.h.ServeHTTP(w, r.WithContext(ctx))
		w.WriteHeader(http.StatusOK)
		_ = in.Close() // a pipe's close does not fail
	})
	select {
	case resp := <-w.first:
		resp.Body, resp.Request = &hangUp{out, end}, r
		context.AfterFunc(r.Context(), func() { // as a transport does
			_ = out.CloseWithError(r.Context().Err()) // a pipe's close does not fail
			end()
		})
		return resp, nil
	case <-r.Context().Done():
		end()
		_ = out.Close() // a pipe's close does not fail
		return nil, r.Context().Err()
	}
}

// hangUp ends the request's context when the client closes the answer, as a server does for a connection.
type hangUp struct {
	*io.PipeReader

	end context.CancelFunc
}

func (b *hangUp) Close() error {
	b.end()
	return b.PipeReader.Close()
}

// answer is a ResponseWriter into a pipe.
type answer struct {
	head  http.Header
	body  *io.PipeWriter
	first chan *http.Response // its head
	once  sync.Once
}

func (a *answer) Header() http.Header { return a.head }

func (a *answer) WriteHeader(status int) {
	a.once.Do(func() {
		a.first <- &http.Response{
			StatusCode: status, Status: http.StatusText(status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: a.head.Clone(), ContentLength: -1,
		}
	})
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// Flush has nothing to do: nothing is kept back.
func (a *answer) Flush() {}
