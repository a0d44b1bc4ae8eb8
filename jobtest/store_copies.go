package jobtest

import (
	"errors"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

// copied is one of everything that has parts which could be shared by mistake.
type copied struct {
	jobs       []jobhost.JobState
	triggers   []jobhost.Trigger
	listed     [][]jobhost.Trigger // the same triggers as lists answer them
	runs       []jobhost.Run
	queried    [][]jobhost.Run
	log        [][]byte
	out, value []byte
	keys       []string
	nodes      []jobhost.Node
}

func newCopied() copied {
	trigger := fullTrigger("a", "manual-t", t0)
	over, open := fullRun(1, "a", t0, t0), newRun(2, "a", t0)
	open.Data = []byte(`{"x":1}`)
	again := func() []jobhost.Trigger { return []jobhost.Trigger{fullTrigger("a", "manual-t", t0)} }
	return copied{
		jobs:     []jobhost.JobState{{Job: newJob("a"), Open: []jobhost.RunID{open.ID}, Blocked: true}},
		triggers: []jobhost.Trigger{trigger},
		listed:   [][]jobhost.Trigger{again(), again(), again(), again()},
		runs:     []jobhost.Run{over, open},
		queried:  [][]jobhost.Run{slim(over, open), slim(over, open), slim(over, open), clones(open)},
		log:      [][]byte{[]byte("log")},
		out:      []byte("out"),
		value:    []byte("value"),
		keys:     []string{"k"},
		nodes:    []jobhost.Node{{ID: "n"}},
	}
}

// slim are runs as lists have them.
func slim(rs ...jobhost.Run) []jobhost.Run {
	for i := range rs {
		rs[i].Data = nil
	}
	return rs
}

func clones(rs ...jobhost.Run) []jobhost.Run {
	for i := range rs {
		rs[i].Data = slices.Clone(rs[i].Data)
	}
	return rs
}

func (c copied) put(tx jobhost.Tx) error {
	_, err := tx.PutNode(c.nodes[0])
	return errors.Join(err, tx.PutJobs(c.jobs[0].Job), tx.PutTriggers(c.triggers...), tx.PutRuns(c.runs...),
		tx.AppendLog(c.runs[0].ID, c.log[0]), tx.PutOutput(c.runs[0].ID, c.out), tx.PutValue("a", "k", c.value))
}

func readCopied(s *suite, tx jobhost.Tx) (c copied) {
	s.Helper()
	want := newCopied()
	var errs [12]error
	list := func(i int, ts []jobhost.Trigger, err error) {
		c.listed, errs[i] = append(c.listed, ts), err
	}
	query := func(i int, rs []jobhost.Run, err error) {
		c.queried, errs[i] = append(c.queried, rs), err
	}
	c.jobs, errs[0] = tx.Jobs("a")
	c.triggers, errs[1] = tx.Triggers(want.triggers[0].Key)
	ts, err := tx.TriggersOf("a")
	list(2, ts, err)
	ts, err = tx.Due(due(t0.Add(time.Hour), 9))
	list(3, ts, err)
	ts, err = tx.Blocked("a", 9)
	list(4, ts, err)
	ts, err = tx.Pending(want.triggers[0].OneShot.RunID)
	list(5, ts, err)
	c.runs, errs[6] = tx.Runs(want.runs[0].ID, want.runs[1].ID)
	for _, q := range []jobhost.RunQuery{{}, {Job: "a"}, {IDs: []jobhost.RunID{want.runs[0].ID, want.runs[1].ID}}} {
		q.Limit = 9
		rs, err := tx.QueryRuns(q)
		query(7, rs, errors.Join(errs[7], err))
	}
	rs, err := tx.OpenRuns("")
	query(8, rs, err)
	c.log, errs[9] = tx.Log(want.runs[0].ID)
	c.out, _, err = tx.Output(want.runs[0].ID)
	c.value, _, errs[10] = tx.Value("a", "k")
	c.nodes, errs[11] = tx.Nodes()
	keys, _, e := tx.ValueKeys("a", "")
	c.keys = keys
	if err := errors.Join(append(errs[:], err, e)...); err != nil {
		s.Fatalf("reading: %v", err)
	}
	return c
}

func (c copied) check(s *suite, tx jobhost.Tx) {
	s.Helper()
	if d := gocmp.Diff(readCopied(s, tx), c, equal, gocmp.AllowUnexported(copied{})); d != "" {
		s.Errorf("-got +want\n%s", d)
	}
}

// scribble changes all parts.
func (c copied) scribble() {
	for _, j := range c.jobs {
		j.Data[0], j.Retry.MaxRetries, j.Open[0] = 'X', 99, "x"
	}
	for _, ts := range append(c.listed, c.triggers) {
		for i := range ts {
			ts[i].Data[0], ts[i].OneShot.Data[0], ts[i].OneShot.Attempt, ts[i].FiredCount = 'X', 'X', 99, 99
		}
	}
	for _, rs := range append(c.queried, c.runs) {
		for i := range rs {
			if rs[i].Job = "x"; len(rs[i].Data) > 0 {
				rs[i].Data[0] = 'X'
			}
		}
	}
	c.log[0][0], c.out[0], c.value[0], c.keys[0], c.nodes[0].ID = 'X', 'X', 'X', "x", "x"
}
