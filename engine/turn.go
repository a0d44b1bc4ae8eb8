package engine

import (
	"maps"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// A command is something that was asked of the scheduler and is part of the next turn.
type command struct {
	jobs []jobhost.Name    // locked before anything else in the turn
	do   func(*turn) error // checks everything, then writes; an error is the store's
	err  error             // what the caller did wrong; set by do
	done chan error        // receives err or the store's error, once
}

// A started is a run that a turn has put on record and that is to be dispatched.
type started struct {
	run     jobhost.Run
	job     jobhost.Job
	awaited bool
}

// A turn is one transaction of the loop. The fields above the line are given to it; those below are made from scratch
// each time the store executes it.
type turn struct {
	cfg      *Config
	plans    *plans
	now      time.Time
	ids      []jobhost.RunID // drawn for the runs it may start
	held     held            // what is known not to be startable here
	plugins  plugins         // what can run here
	logs     []logChunks     // of runs in progress
	locals   *locals
	inHand   map[jobhost.Name]int // runs in progress of local jobs
	orphaned map[jobhost.Name]bool
	oneShots bool                 // only one-shots may be claimed
	sizes    map[jobhost.Name]int // bytes of jobs' values, as far as they are known
	heard    bool                 // somebody listens to events
	quiet    bool                 // the node fires no more, so that no coming firing is told
	narrow   bool                 // the store has little room: nothing large is written that need not be
	toFree   []jobhost.Name       // jobs whose Blocked triggers the turn before has freed in part

	tx        jobhost.Tx
	jobs      map[jobhost.Name]*jobhost.JobState
	started   []started
	drawn     int
	slots     int
	freed     []jobhost.Name // jobs whose last blocking run ended
	unfreed   []jobhost.Name // those of them that still have Blocked triggers to free
	runs      []jobhost.Run  // to be written by the next flush
	moved     []jobhost.Trigger
	newHeld   held
	fired     []jobhost.Trigger // triggers with a new due, for the log
	ends      []ended           // the same
	events    []jobhost.Event
	moves     []move // of local triggers
	localOpen map[jobhost.Name]int
	reread    bool                 // the local trigger set has changed
	newSizes  map[jobhost.Name]int // of jobs whose values change
}

// run does the turn: record what finished, carry out commands, settle what that freed, claim what is due with up to slots
// runs.
func (t *turn) run(tx jobhost.Tx, done []*ending, cmds []*command, slots int) error {
	t.tx, t.jobs, t.slots = tx, map[jobhost.Name]*jobhost.JobState{}, slots
	t.started, t.drawn, t.freed, t.fired = t.started[:0], 0, append(t.freed[:0], t.toFree...), t.fired[:0]
	t.ends = t.ends[:0]
	t.newHeld, t.runs, t.moved = t.held.clone(), t.runs[:0], t.moved[:0]
	t.events, t.moves, t.localOpen, t.reread = t.events[:0], t.moves[:0], maps.Clone(t.inHand), false
	t.newSizes = map[jobhost.Name]int{}
	t.unfreed = t.unfreed[:0]
	names := slices.Clone(t.toFree)
	for _, d := range done {
		names = append(names, d.run.Job)
	}
	for _, c := range cmds {
		names = append(names, c.jobs...)
	}
	if err := t.lock(names); err != nil {
		return err
	}
	for _, l := range t.logs {
		for _, chunk := range l.chunks {
			if err := tx.AppendLog(l.run, chunk); err != nil {
				return err
			}
		}
	}
	if err := t.finish(done); err != nil {
		return err
	}
	for _, c := range cmds {
		c.err = nil
		if err := c.do(t); err != nil {
			return err
		}
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := t.free(); err != nil {
		return err
	}
	if t.locals != nil {
		if err := t.claimLocal(); err != nil {
			return err
		}
	}
	return t.claim()
}

// lock reads and locks jobs that the turn does not have yet.
func (t *turn) lock(names []jobhost.Name) error {
	slices.Sort(names)
	names = slices.DeleteFunc(slices.Compact(names), func(n jobhost.Name) bool { return t.jobs[n] != nil })
	if len(names) == 0 {
		return nil
	}
	js, err := t.tx.Jobs(names...)
	for i := range js {
		t.jobs[js[i].Name] = &js[i]
	}
	return err
}

// flush writes what was decided since the last flush.
func (t *turn) flush() error {
	if err := t.tx.PutTriggers(t.moved...); err != nil {
		return err
	}
	if err := t.tx.PutRuns(t.runs...); err != nil {
		return err
	}
	t.moved, t.runs = t.moved[:0], t.runs[:0]
	return nil
}

func (t *turn) rules() rules { return rules{t.cfg.MisfireThreshold, t.cfg.PollInterval} }
