package jobtest

import (
	"errors"
	"time"

	"github.com/jobhost/jobhost"
)

// fillAll writes something of every kind. What it writes under one name is apart from that under another.
func fillAll(tx jobhost.Tx, name jobhost.Name) error {
	n := 1000 * len(name)
	at := t0.Add(time.Duration(len(name)) * time.Hour)
	oneShot := fullTrigger(name, "manual-1", at)
	oneShot.OneShot.RunID = id(n+5, at)
	running := newTrigger(name, "running", 0, time.Time{})
	running.State, running.RunID = jobhost.TriggerRunning, id(n, at)
	over := fullRun(n+1, name, at, at.Add(time.Minute))
	later := fullRun(n+2, name, at.Add(time.Hour), at.Add(2*time.Hour))
	later.ID = id(n+2, at)
	_, err := tx.PutNode(jobhost.Node{ID: name, Host: "host", Version: "v1.2.3", Started: at, Beat: at.Add(time.Minute)})
	return errors.Join(err,
		tx.PutJobs(newJob(name), newJob(name+".b")),
		tx.PutTriggers(newTrigger(name, "t", 5, at), newTrigger(name, "u", 8, at), oneShot, running),
		tx.PutRuns(newRun(n, name, at), over, later, newRun(n+3, name+".b", at)),
		tx.AppendLog(over.ID, []byte("one")), tx.AppendLog(over.ID, []byte("two")), tx.PutOutput(over.ID, []byte("out")),
		tx.PutIdempotent(name, "key", over.ID, at.Add(time.Hour)),
		tx.PutValue(name, "k", []byte("v")), tx.PutValue(name, "l", []byte{}))
}

// deleteAll deletes what fillAll wrote, as far as it can be deleted, and ends the rest.
func deleteAll(tx jobhost.Tx, name jobhost.Name) error {
	n := 1000 * len(name)
	at := t0.Add(time.Duration(len(name)) * time.Hour)
	err := errors.Join(
		tx.DeleteTriggers(jobhost.TriggerKey{Job: name, Trigger: "t"}),
		tx.PutValue(name, "k", nil),
		tx.DeleteJobs(name, name+".b"),
		tx.DeleteNode(name),
		tx.PutRuns(ended(newRun(n, name, at), at.Add(time.Second))))
	if err != nil {
		return err
	}
	if _, err := tx.PruneJobRuns(name, 1, 1); err != nil {
		return err
	}
	_, err = tx.TakeCancels(name)
	return err
}

// everything is what all reads answer.
func everything(s *suite) (all []any) {
	s.Helper()
	s.view(func(tx jobhost.Tx) error {
		all = answers(s, tx)
		return nil
	})
	return all
}

func answers(s *suite, tx jobhost.Tx) (all []any) {
	s.Helper()
	add := func(v any, err error) {
		s.Helper()
		if err != nil {
			s.Fatalf("reading: %v", err)
		}
		all = append(all, v)
	}
	jobs, err := tx.JobNames("", 1000)
	add(jobs, err)
	add(wrap(jobsWithSortedRuns(tx, jobs...)))
	triggers, err := tx.TriggersOf(jobs...)
	add(triggers, err)
	for _, t := range triggers {
		add(wrap(tx.Triggers(t.Key)))
		if t.OneShot != nil {
			add(wrap(tx.Pending(t.OneShot.RunID)))
		}
	}
	q := due(t0.Add(1000*time.Hour), 1000)
	add(wrap(tx.Due(q)))
	add(wrap(tx.NextReady(q)))
	runs, err := tx.QueryRuns(jobhost.RunQuery{Limit: 1000})
	add(runs, err)
	add(wrap(tx.CountRuns(jobhost.RunQuery{})))
	open, err := tx.OpenRuns("")
	add(wrap(sorted(open, err, func(r jobhost.Run) jobhost.RunID { return r.ID })))
	for _, r := range runs {
		add(wrap(tx.Runs(r.ID)))
		add(wrap(tx.Log(r.ID)))
		out, ok, err := tx.Output(r.ID)
		add([]any{out, ok}, err)
	}
	for _, j := range jobs {
		add(wrap(tx.QueryRuns(jobhost.RunQuery{Job: j, Limit: 1000})))
		add(wrap(tx.Blocked(j, 1000)))
		keys, size, err := tx.ValueKeys(j, "")
		add([]any{keys, size}, err)
		for _, k := range keys {
			v, ok, err := tx.Value(j, k)
			add([]any{v, ok}, err)
		}
		run, ok, err := tx.Idempotent(j, "key", t0)
		add([]any{run, ok}, err)
	}
	nodes, err := tx.Nodes()
	add(wrap(sorted(nodes, err, func(n jobhost.Node) string { return n.ID })))
	return all
}

func wrap[V any](v V, err error) (any, error) { return v, err }
