package jobtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/jobhost/jobhost"
)

// Nodes, Drain, a store that fails, and contexts that end.
var serviceCases = []schedulerCase{
	{name: "the answering node is among the nodes", test: func(s *service) {
		s.until(time.Minute)
		nodes, err := s.Nodes(s.Context())
		is(s, "error", err, nil)
		is(s, "nodes", len(nodes), 1)
		is(s, "started", nodes[0].Started, s.began)
		if n := nodes[0]; n.ID == "" || n.Host == "" || n.Beat.Before(s.at(30*time.Second)) {
			s.Errorf("the node is %+v, want an id, a host name and a fresh heartbeat", n)
		}
	}},
	{name: "S-172 a drained node fires no more triggers and takes requests", test: func(s *service) {
		s.define(minutely("j"), jobhost.NewJob("long", "p"))
		s.takes("long", 3*time.Minute)
		end := s.begin("long")
		s.until(90 * time.Second)
		s.only("j")
		is(s, "draining another", codeOf(s.Drain(s.Context(), "none")), jobhost.NotFoundNode)
		is(s, "draining", codeOf(s.Drain(s.Context(), s.node())), "")
		is(s, "draining again", codeOf(s.Drain(s.Context(), s.node())), "")
		s.until(10 * time.Minute)
		s.only("j")
		is(s, "the run in progress", (<-end).Value.State, jobhost.RunSucceeded)
		is(s, "on request", s.run("j").State, jobhost.RunSucceeded)
		s.explains("j", "Draining")
	}},
	{name: "a job's values outlive its runs, are its own, and go with it", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("k", "p"))
		late := make(chan jobhost.KV, 1)
		s.does("j", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			before, _, err := c.KV.Get(ctx, "seen")
			if err == nil {
				err = c.KV.Set(ctx, "seen", append(before, 'x'))
			}
			if err != nil {
				return jobhost.Outcome{Code: "E_KV", Message: err.Error()}
			}
			late <- c.KV
			return jobhost.Outcome{Output: before}
		})
		s.does("k", func(ctx context.Context, c jobhost.Call) jobhost.Outcome {
			keys, err := c.KV.Keys(ctx, "")
			return jobhost.Outcome{Output: fmt.Append(nil, keys, err)}
		})
		said := func(name jobhost.Name) string {
			s.Helper()
			r := s.run(name)
			is(s, "end of "+name, r.ErrorMessage, "")
			out, err := s.Scheduler.Output(s.Context(), r.ID)
			is(s, "error", err, nil)
			return string(out)
		}
		is(s, "what the first run finds", said("j"), "")
		if err := (<-late).Set(s.Context(), "seen", nil); !errors.Is(err, jobhost.ErrRunOver) {
			s.Errorf("a run that is over writes: %v, want %v", err, jobhost.ErrRunOver)
		}
		is(s, "what the second finds", said("j"), "x")
		<-late
		is(s, "what another job finds", said("k"), "[] <nil>")
		s.Delete(s.Context(), []jobhost.Name{"j"})
		s.define(jobhost.NewJob("j", "p"))
		is(s, "what a new job of the name finds", said("j"), "")
	}},
	{name: "S-188 every operation says that the store is unreachable, and works again after it", test: func(s *service) {
		s.define(minutely("j"), jobhost.NewJob("k", "p"))
		id := s.run("k").ID
		s.store.fail(&jobhost.Error{Code: jobhost.StoreUnreachable, Op: "jobtest", Msg: "it is away"})
		for op, err := range merged(s.reads(s.Context(), id), s.changes()) {
			is(s, op, codeOf(err), jobhost.StoreUnreachable)
		}
		s.until(90 * time.Second)
		for op, err := range s.changes() {
			is(s, "long after: "+op, codeOf(err), jobhost.StoreUnreachable)
		}
		s.store.fail(nil)
		time.Sleep(5 * time.Second)
		is(s, "what was due meanwhile", s.only("j").ScheduledAt, s.at(time.Minute))
		for op, err := range merged(s.reads(s.Context(), id), s.changes()) {
			is(s, op, codeOf(err), "")
		}
	}},
	{name: "S-105 every change says that the store is full", test: func(s *service) {
		s.define(jobhost.NewJob("j", "p"), jobhost.NewJob("k", "p"))
		id := s.run("k").ID
		s.store.fail(&jobhost.Error{Code: jobhost.StoreFull, Op: "jobtest", Msg: "no space is left"})
		for op, err := range s.reads(s.Context(), id) {
			is(s, op, codeOf(err), "")
		}
		for op, err := range s.changes() {
			is(s, op, codeOf(err), jobhost.StoreFull)
		}
		s.store.fail(nil)
		s.until(time.Minute)
		for op, err := range s.changes() {
			is(s, op, codeOf(err), "")
		}
	}},
	{name: "S-106 a read whose context has ended says so", test: func(s *service) {
		s.define(jobhost.NewJob("k", "p"))
		id := s.run("k").ID
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		for op, err := range s.reads(ctx, id) {
			is(s, op, codeOf(err), jobhost.Code(context.Canceled.Error()))
		}
	}},
}

// reads calls every operation that reads the store. Job "k" and its run id are there.
func (s *service) reads(ctx context.Context, id jobhost.RunID) map[string]error {
	errs := map[string]error{}
	_, errs["Status"] = jobhost.One(s.Status(ctx, []jobhost.Name{"k"}))
	_, errs["Status of all"] = jobhost.One(s.Status(ctx, nil))
	_, errs["Explain"] = s.Explain(ctx, "k")
	_, errs["Runs"] = s.Runs(ctx, jobhost.RunQuery{})
	_, errs["CountRuns"] = s.CountRuns(ctx, jobhost.RunQuery{})
	_, errs["Next"] = s.Next(ctx, jobhost.NextQuery{Job: "k"})
	_, errs["Log"] = gather(s.Scheduler.Log(ctx, id, jobhost.LogQuery{}))
	_, errs["Output"] = s.Scheduler.Output(ctx, id)
	_, errs["Nodes"] = s.Nodes(ctx)
	return errs
}

// changes calls every operation that changes the store, and gives each a minute. Job "k" is there, and in the end gone.
func (s *service) changes() map[string]error {
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	errs := map[string]error{}
	_, errs["Schedule"] = jobhost.One(s.Schedule(ctx, []jobhost.JobDef{jobhost.NewJob("k", "p")}))
	_, errs["Pause"] = jobhost.One(s.Pause(ctx, []jobhost.Target{{Job: "k"}}))
	_, errs["Resume"] = jobhost.One(s.Resume(ctx, []jobhost.Target{{Job: "k"}}))
	_, errs["Trigger"] = jobhost.One(s.Trigger(ctx, []jobhost.TriggerRequest{{Job: "k"}}))
	_, errs["Enqueue"] = jobhost.One(s.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "k", At: s.at(time.Hour)}}))
	_, errs["Delete"] = jobhost.One(s.Delete(ctx, []jobhost.Name{"k"}))
	return errs
}

func merged(a, b map[string]error) map[string]error {
	maps.Copy(a, b)
	return a
}

// node is the id of the only node.
func (s *service) node() string {
	s.Helper()
	nodes, err := s.Nodes(s.Context())
	if err != nil || len(nodes) != 1 {
		s.Fatalf("nodes are %+v, %v; want one", nodes, err)
	}
	return nodes[0].ID
}
