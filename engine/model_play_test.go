package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// TestEngineDoesWhatTheModelSays tells random stories to an engine and to the model, and compares what they have after each
// step: every trigger's state, due and count, and every run. The steps are drawn before the story is told, so that one that
// fails shrinks to the few that matter. There are 500 stories; -rapid.checks=5000 tells fifty times as many.
func TestEngineDoesWhatTheModelSays(t *testing.T) {
	for i := range 5 {
		t.Run(fmt.Sprintf("stories %d", i), func(t *testing.T) { rapid.Check(t, func(rt *rapid.T) { tell(t, rt) }) })
	}
}

func tell(t *testing.T, rt *rapid.T) {
	t.Helper()
	var steps []step
	for _, name := range modelJobs {
		steps = append(steps, defineStep(drawJob(rt, name)))
	}
	chapter := rapid.SliceOfN(rapid.Custom(drawStep), 0, 20) // most are short; a story has several
	for range 6 {
		steps = append(steps, chapter.Draw(rt, "chapter")...)
	}
	var told []string
	var diff string
	synctest.Test(t, func(t *testing.T) { told, diff = play(t, steps) })
	if diff != "" {
		rt.Fatalf("after\n  %s\n-engine +model\n%s", strings.Join(told, "\n  "), diff)
	}
}

// A step happens to both; each says what its caller saw. It does nothing where there is nothing that it could be done to.
type step struct {
	text string
	do   func(p *player) (engine, model any)
}

// GoString is how a failing story is shown.
func (s step) GoString() string { return s.text }

// A player tells a story to both.
type player struct {
	*model

	w *world

	mu   sync.Mutex
	open map[string]chan jobhost.Outcome // the runs in progress, by key
	ids  map[string]jobhost.RunID
}

// between is how long each step lies after the one before. All else that the story does takes whole seconds, so no two
// steps, and nothing that follows from two of them, fall on one instant, where the order would be open.
const between = 7 * time.Millisecond

func play(t *testing.T, steps []step) (told []string, diff string) {
	t.Helper()
	w := newWorld(t, jobtest.Twice(memstore.New(memstore.Config{})))
	w.cfg.Log = nil
	w.cfg.PollInterval, w.cfg.MisfireThreshold = modelPoll, modelThreshold
	w.cfg.MaxConcurrentRuns, w.cfg.AcquireBatchSize = 1000, 1000
	quiet, err := calendar.Daily("00:02", "00:04", nil)
	if err != nil {
		t.Fatal(err)
	}
	w.cfg.Calendars = calendar.Set{"quiet": quiet}
	p := &player{
		model: &model{now: t0, jobs: map[jobhost.Name]*modelJob{}}, w: w,
		open: map[string]chan jobhost.Outcome{}, ids: map[string]jobhost.RunID{},
	}
	for _, name := range modelJobs {
		w.does(name, p.run)
	}
	stop := w.serve()
	defer func() {
		w.cancel()
		for _, c := range p.open {
			close(c)
		}
		stop()
		w.end()
	}()
	for _, s := range steps {
		time.Sleep(between)
		synctest.Wait()
		p.advance(w.cfg.Now())
		engine, model := s.do(p)
		synctest.Wait()
		told = append(told, fmt.Sprintf("%s  %s", since(w.cfg.Now()), s.text))
		if diff := cmp.Diff(engine, model) + cmp.Diff(p.engineLines(), p.lines()); diff != "" {
			return told, diff
		}
	}
	return told, ""
}

// run waits until the story ends it, or it is asked to stop.
func (p *player) run(_ context.Context, c jobhost.Call) jobhost.Outcome {
	end := make(chan jobhost.Outcome, 1)
	key := engineKey(c.Run)
	p.mu.Lock()
	p.open[key], p.ids[key] = end, c.Run.ID
	p.mu.Unlock()
	select {
	case out := <-end:
		return out
	case <-c.Stop:
		return jobhost.Outcome{Code: "E_STOPPED"}
	}
}

var modelJobs = []jobhost.Name{"j", "k"}

func drawStep(rt *rapid.T) step {
	job := rapid.SampledFrom(modelJobs).Draw(rt, "job")
	i := rapid.IntRange(0, 5).Draw(rt, "which")
	switch rapid.SampledFrom([]string{
		"sleep", "sleep", "sleep", "end", "end", "end", "define", "define", "trigger", "enqueue", "cancel", "pause", "pause", "resume", "resume", "delete",
	}).Draw(rt, "step") {
	case "sleep":
		return sleepStep(time.Duration(rapid.SampledFrom([]int{2, 1, 6, 11, 24, 45}).Draw(rt, "seconds")) * second)
	case "end":
		return endStep(i, rapid.SampledFrom([]jobhost.RunState{jobhost.RunSucceeded, jobhost.RunFailed}).Draw(rt, "as"), rapid.IntRange(0, 4).Draw(rt, "permanent") == 4)
	case "define":
		return defineStep(drawJob(rt, job))
	case "trigger":
		return onJob("trigger", job, triggerStep)
	case "enqueue":
		in, priority := time.Duration(rapid.IntRange(0, 20).Draw(rt, "in"))*second, rapid.Int32Range(4, 6).Draw(rt, "priority")
		return onJob(fmt.Sprintf("enqueue in %v with priority %d", in, priority), job, func(p *player, job jobhost.Name) (any, any) {
			req := jobhost.EnqueueRequest{Job: job, At: p.now.Add(in), Priority: &priority}
			_, err := jobhost.One(p.w.eng().Enqueue(p.w.Context(), []jobhost.EnqueueRequest{req}))
			p.enqueue(job, p.now.Add(in), priority)
			return err, nil
		})
	case "cancel":
		return cancelStep(i)
	case "pause":
		return pauseStep(job, i, true, false)
	case "resume":
		return pauseStep(job, i, false, rapid.IntRange(0, 3).Draw(rt, "skip missed") == 3)
	}
	return onJob("delete", job, func(p *player, job jobhost.Name) (any, any) {
		if j := p.jobs[job]; j != nil {
			for _, t := range slices.Clone(j.triggers) {
				if t.shot != nil && t.shot.kind == jobhost.KindManual {
					p.cancelPending(t)
				}
			}
		}
		delete(p.jobs, job)
		return p.w.eng().Delete(p.w.Context(), []jobhost.Name{job})[0].Err, nil
	})
}

func drawJob(rt *rapid.T, name jobhost.Name) jobhost.JobDef {
	d := jobhost.NewJob(name, "p")
	d.AllowConcurrent = rapid.IntRange(0, 2).Draw(rt, "concurrent") == 2
	d.Retry = rapid.SampledFrom([]*jobhost.RetryPolicy{
		nil,
		{MaxRetries: 1, Delay: 3 * second},
		{MaxRetries: 3, Delay: 4 * second, Exponential: true, MaxDelay: 12 * second},
	}).Draw(rt, "retry")
	for _, trigger := range []jobhost.Name{"a", "b"}[:rapid.IntRange(0, 2).Draw(rt, "triggers")] {
		t := jobhost.NewTrigger(trigger, rapid.SampledFrom(slices.Sorted(maps.Keys(schedules))).Draw(rt, "schedule"))
		t.Misfire = rapid.SampledFrom([]jobhost.Misfire{jobhost.MisfireRunOnce, jobhost.MisfireSkip, jobhost.MisfireRunAll}).Draw(rt, "misfire")
		t.Priority = rapid.Int32Range(4, 6).Draw(rt, "priority")
		t.StartDeadline = rapid.SampledFrom([]time.Duration{0, 0, 10 * second}).Draw(rt, "deadline")
		d.Triggers = append(d.Triggers, t)
	}
	return d
}

func sleepStep(d time.Duration) step {
	return step{"sleep " + d.String(), func(p *player) (any, any) {
		time.Sleep(d)
		synctest.Wait()
		p.advance(p.w.cfg.Now())
		return nil, nil
	}}
}

func defineStep(d jobhost.JobDef) step {
	var text strings.Builder
	fmt.Fprintf(&text, "define %q, concurrent %v, retry %+v", d.Name, d.AllowConcurrent, d.Retry)
	for _, t := range d.Triggers {
		fmt.Fprintf(&text, "\n            %q: %s, %v, priority %d, start deadline %v", t.Name, t.Schedule, t.Misfire, t.Priority, t.StartDeadline)
	}
	return step{text.String(), func(p *player) (any, any) {
		_, err := jobhost.One(p.w.eng().Schedule(p.w.Context(), []jobhost.JobDef{d}))
		p.define(d)
		return err, nil
	}}
}

// endStep ends the i-th run in progress.
func endStep(i int, state jobhost.RunState, permanent bool) step {
	return step{fmt.Sprintf("end run %d as %v, permanent %v", i, state, permanent), func(p *player) (any, any) {
		r := p.pick(i)
		if r == nil {
			return nil, nil
		}
		out := jobhost.Outcome{Permanent: permanent}
		if state == jobhost.RunFailed {
			out.Code = "E_BROKEN"
		}
		p.mu.Lock()
		end := p.open[r.key()]
		p.mu.Unlock()
		end <- out
		synctest.Wait()
		p.end(r, state, permanent)
		return nil, nil
	}}
}

// pick is the i-th run in progress, counted around.
func (p *player) pick(i int) *modelRun {
	var all []*modelRun
	for _, name := range modelJobs {
		all = append(all, p.model.open(name)...)
	}
	if len(all) == 0 {
		return nil
	}
	return all[i%len(all)]
}

func onJob(text string, job jobhost.Name, do func(*player, jobhost.Name) (any, any)) step {
	return step{fmt.Sprintf("%s of %q", text, job), func(p *player) (any, any) {
		if p.jobs[job] == nil {
			return nil, nil
		}
		return do(p, job)
	}}
}

func triggerStep(p *player, job jobhost.Name) (engine, model any) {
	answer := p.w.startManual(job)
	refused := false
	select {
	case r := <-answer:
		refused = jobhost.CodeOf(r.Err) == jobhost.JobRunning
	default:
	}
	return refused, p.trigger(job)
}

// cancelStep cancels the i-th run in progress, or a run that was enqueued and has not started if there are none.
func cancelStep(i int) step {
	return step{fmt.Sprintf("cancel run %d", i), func(p *player) (any, any) {
		if r := p.pick(i); r != nil {
			p.mu.Lock()
			id := p.ids[r.key()]
			p.mu.Unlock()
			err := p.w.eng().CancelRuns(p.w.Context(), []jobhost.RunID{id})[0].Err
			synctest.Wait()
			p.end(r, jobhost.RunCanceled, false)
			return err, nil
		}
		for _, name := range modelJobs {
			for _, t := range p.w.oneShots(name) {
				if t.OneShot.Kind != jobhost.KindManual {
					continue
				}
				err := p.w.eng().CancelRuns(p.w.Context(), []jobhost.RunID{t.OneShot.RunID})[0].Err
				for _, m := range p.jobs[name].triggers {
					if m.shot != nil && m.shot.kind == jobhost.KindManual && m.due.Equal(t.Due) {
						p.cancelPending(m)
						return err, nil
					}
				}
			}
		}
		return nil, nil
	}}
}

// pauseStep pauses or resumes a job, or one of its triggers.
func pauseStep(job jobhost.Name, i int, paused, skipMissed bool) step {
	target := jobhost.Target{Job: job, SkipMissed: skipMissed}
	if i < 2 {
		target.Trigger = []jobhost.Name{"a", "b"}[i]
	}
	return onJob(fmt.Sprintf("pause %v, skip missed %v, trigger %q", paused, skipMissed, target.Trigger), job, func(p *player, _ jobhost.Name) (any, any) {
		there := func(t *modelTrigger) bool { return t.shot == nil && t.def.Name == target.Trigger }
		if target.Trigger != "" && !slices.ContainsFunc(p.jobs[job].triggers, there) {
			return nil, nil
		}
		call := p.w.eng().Resume
		if paused {
			call = p.w.eng().Pause
		}
		err := call(p.w.Context(), []jobhost.Target{target})[0].Err
		p.pause(target, paused)
		return err, nil
	})
}

// engineLines is what the store has, as the model says it.
func (p *player) engineLines() []string {
	var out []string
	p.w.view(func(tx jobhost.Tx) error {
		out = out[:0]
		jobs, err := tx.Jobs(modelJobs...)
		if err != nil {
			return err
		}
		for _, j := range jobs {
			out = append(out, jobLine(j.Name, j.Paused))
		}
		ts, err := tx.TriggersOf(modelJobs...)
		if err != nil {
			return err
		}
		for _, t := range ts {
			if o := t.OneShot; o != nil {
				out = append(out, shotLine(t.Key.Job, o.Kind, o.Attempt, o.Trigger, t.Due, t.State))
			} else {
				out = append(out, triggerLine(t.Key.Job, t.Key.Trigger, t.State, t.Due, t.FiredCount, t.Paused))
			}
		}
		runs, err := tx.QueryRuns(jobhost.RunQuery{Limit: 1_000_000})
		keys := map[jobhost.RunID]string{}
		for _, r := range runs {
			keys[r.ID] = engineKey(r)
		}
		for _, r := range runs {
			line := keys[r.ID] + fmt.Sprintf(" %v, ended %s", r.State, since(r.EndedAt))
			if r.RetryOf != "" {
				line += ", after " + keys[r.RetryOf]
			}
			out = append(out, line)
		}
		return err
	})
	slices.Sort(out)
	return out
}

func engineKey(r jobhost.Run) string {
	return runKey(r.Job, r.Trigger, r.Kind, r.Attempt, r.ScheduledAt, r.StartedAt)
}

func runKey(job, trigger jobhost.Name, kind jobhost.RunKind, attempt int, scheduled, started time.Time) string {
	return fmt.Sprintf("run of %s/%s: %v, attempt %d, planned %s, started %s", job, trigger, kind, attempt, since(scheduled), since(started))
}

func jobLine(name jobhost.Name, paused bool) string {
	return fmt.Sprintf("job %s: paused %v", name, paused)
}

func triggerLine(job, name jobhost.Name, state jobhost.TriggerState, due time.Time, count int, paused bool) string {
	return fmt.Sprintf("trigger %s/%s: %v, due %s, fired %d, paused %v", job, name, state, since(due), count, paused)
}

func shotLine(job jobhost.Name, kind jobhost.RunKind, attempt int, trigger jobhost.Name, due time.Time, state jobhost.TriggerState) string {
	return fmt.Sprintf("one-shot of %s/%s: %v, attempt %d, due %s, %v", job, trigger, kind, attempt, since(due), state)
}

// since is an instant as seconds after t0.
func since(at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return fmt.Sprintf("%.3f", at.Sub(t0).Seconds())
}
