package engine

import (
	"context"
	"fmt"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/cron"
)

// Schedule defines or replaces jobs at run time. See [jobhost.Scheduler].
func (e *Engine) Schedule(ctx context.Context, defs []jobhost.JobDef) []jobhost.Result[jobhost.JobInfo] {
	known, err := e.knownPlugins(ctx)
	return batch(ctx, e, defs, func(_ int, def jobhost.JobDef, out *jobhost.Result[jobhost.JobInfo]) *command {
		if out.Err = err; out.Err == nil {
			out.Err = e.checkDef(ctx, def, known)
		}
		if out.Err != nil {
			return nil
		}
		return e.define(def, jobhost.TopicJobScheduled, &out.Value, func(old *jobhost.Job) (jobhost.Source, string, bool) {
			switch {
			case old == nil || old.Fingerprint == "":
				return jobhost.SourceRuntime, "", true
			case old.Fingerprint == def.Fingerprint():
				return jobhost.SourceFile, old.Fingerprint, true
			}
			return jobhost.SourceOverridden, old.Fingerprint, true
		})
	})
}

// eachJob calls f with every job, a page of a transaction at a time.
func (e *Engine) eachJob(ctx context.Context, f func(jobhost.JobState)) error {
	const page = 1000
	for last := ""; ; {
		var jobs []jobhost.JobState
		err := e.store.View(ctx, func(tx jobhost.Tx) error {
			names, err := tx.JobNames(last, page)
			if err != nil {
				return err
			}
			jobs, err = tx.Jobs(names...)
			return err
		})
		if err != nil {
			return err
		}
		for _, j := range jobs {
			f(j)
			last = j.Name
		}
		if len(jobs) < page {
			return nil
		}
	}
}

func (e *Engine) knownPlugins(ctx context.Context) (plugins, error) {
	list, err := e.runner.Plugins(ctx)
	return listPlugins(list), err
}

// checkDef reports every problem of a definition that this node can know.
func (e *Engine) checkDef(ctx context.Context, def jobhost.JobDef, known plugins) error {
	if err := def.Check(); err != nil {
		return err
	}
	if _, ok := known[def.Plugin]; !ok {
		return &jobhost.Error{
			Code: jobhost.NotFoundPlugin, Op: "define", Msg: fmt.Sprintf("job %q: plugin %q is not loaded", def.Name, def.Plugin),
			Hint: "put " + def.Plugin + ".wasm into the plugin folder",
		}
	}
	for _, t := range def.Triggers {
		if _, err := e.plans.of(t.Schedule); err != nil {
			return invalid("job %q: trigger %q: %v", def.Name, t.Name, err)
		}
	}
	return e.checkPluginData(ctx, def)
}

// remarks are what about the schedules of a definition its author may not have meant, by trigger.
type remarks map[jobhost.Name][]cron.Warning

func remarksOn(def jobhost.JobDef, now time.Time) remarks {
	out := remarks{}
	for _, t := range def.Triggers {
		if s, err := jobhost.ParseSchedule(t.Schedule); err == nil {
			out[t.Name] = s.Warnings(now)
		}
	}
	return out
}

// of says it of one trigger, and whether that it never fires is part of it.
func (r remarks) of(t jobhost.TriggerDef) (texts []string, never bool) {
	for _, w := range r[t.Name] {
		texts = append(texts, fmt.Sprintf("trigger %q: %q %s", t.Name, t.Schedule, w.Text))
		never = never || w.Kind == cron.NeverFires
	}
	return texts, never
}

// define is the command that puts a definition into the store, and tells so under a topic; TopicJobReset is for one that
// may replace what was made at run time. decide is asked with the stored job, nil if there is none, for the new source and
// fingerprint, and whether to write at all.
func (e *Engine) define(def jobhost.JobDef, topic jobhost.Topic, info *jobhost.JobInfo, decide func(*jobhost.Job) (jobhost.Source, string, bool)) *command {
	notes := remarksOn(def, e.now())
	return &command{jobs: []jobhost.Name{def.Name}, do: func(t *turn) error {
		*info = jobhost.JobInfo{Name: def.Name}
		var old *jobhost.Job
		job := t.jobs[def.Name]
		if job != nil {
			old = &job.Job
		} else {
			job = &jobhost.JobState{}
		}
		source, fingerprint, write := decide(old)
		if !write {
			info.Source = old.Source
			return nil
		}
		info.Source = source
		topic := topic
		switch {
		case topic != jobhost.TopicJobReset:
		case old == nil || old.Source == jobhost.SourceFile:
			topic = jobhost.TopicJobScheduled
		default:
			info.Warnings = append(info.Warnings, "the file's definition replaces one that was made at run time")
		}
		t.tell(jobhost.Event{Topic: topic, Time: t.now, Job: def.Name, Node: t.cfg.NodeID})
		moved := old != nil && old.RunOnEveryInstance != def.RunOnEveryInstance
		t.reread = t.reread || moved || def.RunOnEveryInstance
		job.JobDef, job.Source, job.Fingerprint = def, source, fingerprint
		job.Triggers = nil
		t.jobs[def.Name] = job
		t.unhold(def.Name)
		if err := t.tx.PutJobs(job.Job); err != nil {
			return err
		}
		if old == nil { // runs of a job that was deleted go on, and count for one of the same name
			states, err := t.tx.Jobs(def.Name)
			if err != nil {
				return err
			}
			job.Open = states[0].Open
		}
		return t.defineTriggers(job, def, info, notes, moved)
	}}
}

// defineTriggers makes a job's triggers those of its definition; one-shots stay. anew says that what the store has of them
// does not count, since the job has become local or has ceased to be.
func (t *turn) defineTriggers(job *jobhost.JobState, def jobhost.JobDef, info *jobhost.JobInfo, notes remarks, anew bool) error {
	stored, err := t.tx.TriggersOf(def.Name)
	if err != nil {
		return err
	}
	old := make(map[jobhost.Name]*jobhost.Trigger, len(stored))
	for i := range stored {
		old[stored[i].Key.Trigger] = &stored[i]
	}
	var put []jobhost.Trigger
	for _, d := range def.Triggers {
		was := old[d.Name]
		delete(old, d.Name)
		p, err := t.plans.of(d.Schedule)
		if err != nil {
			return err // checked before; only a closed zone database could do this
		}
		unchanged := was != nil && !anew && sameSchedule(was.Schedule, p)
		n := redefine(was, def, d, p, unchanged, t.now, t.rules())
		n = ready(n, job.Job)
		put = append(put, n)
		texts, never := notes.of(d)
		info.Warnings = append(info.Warnings, texts...)
		if n.State == jobhost.TriggerComplete && !unchanged && !never {
			info.Warnings = append(info.Warnings, fmt.Sprintf("trigger %q has no due time: %q: %s", d.Name, d.Schedule, t.plans.whyComplete(n, t.now)))
		}
		if !unchanged {
			t.fired = append(t.fired, n)
		}
	}
	var gone []jobhost.TriggerKey
	for _, o := range old {
		if o.OneShot == nil {
			gone = append(gone, o.Key)
			continue
		}
		if o.State == jobhost.TriggerBlocked && def.AllowConcurrent { // T14
			o.State = jobhost.TriggerWaiting
		}
		put = append(put, ready(*o, job.Job))
	}
	if err := t.tx.DeleteTriggers(gone...); err != nil {
		return err
	}
	return t.tx.PutTriggers(put...)
}

// sameSchedule reports whether a stored text means what a plan's does.
func sameSchedule(text string, p *plan) bool {
	s, err := jobhost.ParseSchedule(text)
	return err == nil && s == p.Schedule
}

const whyDeleted = "the job was deleted before the run started"

// remove deletes a job with its triggers and one-shots. Runs that were asked for and have not started are recorded as
// Canceled, since somebody may have their ids.
func (t *turn) remove(name jobhost.Name) error {
	ts, err := t.tx.TriggersOf(name)
	if err != nil {
		return err
	}
	for _, x := range ts {
		if x.OneShot == nil || x.OneShot.Kind != jobhost.KindManual {
			continue
		}
		if err := t.cancelPending(x, whyDeleted); err != nil {
			return err
		}
	}
	for key, x := range t.locals.byKey { // of a job that runs on every instance they wait in this process
		if key.Job != name || x.trigger.OneShot == nil || x.trigger.OneShot.Kind != jobhost.KindManual {
			continue
		}
		t.moves = append(t.moves, move{key: key})
		if err := t.cancelPending(x.trigger, whyDeleted); err != nil {
			return err
		}
	}
	if job := t.jobs[name]; job != nil && job.RunOnEveryInstance {
		t.reread = true
	}
	delete(t.jobs, name)
	t.unhold(name)
	t.newSizes[name] = 0
	t.tell(jobhost.Event{Topic: jobhost.TopicJobDeleted, Time: t.now, Job: name, Node: t.cfg.NodeID})
	return t.tx.DeleteJobs(name)
}

// Delete removes jobs. See [jobhost.Scheduler].
func (e *Engine) Delete(ctx context.Context, names []jobhost.Name) []jobhost.Result[struct{}] {
	return batch(ctx, e, names, func(_ int, name jobhost.Name, _ *jobhost.Result[struct{}]) *command {
		c := &command{jobs: []jobhost.Name{name}}
		c.do = func(t *turn) error {
			if t.jobs[name] == nil {
				c.err = notFoundJob(name)
				return nil
			}
			return t.remove(name)
		}
		return c
	})
}

// Restore puts the definitions of the files back. See [jobhost.Scheduler].
func (e *Engine) Restore(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobInfo] {
	return batch(ctx, e, names, func(_ int, name jobhost.Name, out *jobhost.Result[jobhost.JobInfo]) *command {
		e.mu.Lock()
		def, ok := e.files[name]
		e.mu.Unlock()
		if !ok {
			c := &command{jobs: []jobhost.Name{name}}
			c.do = func(t *turn) error {
				c.err = notFoundJob(name)
				if t.jobs[name] != nil {
					c.err = &jobhost.Error{
						Code: jobhost.NotFoundDefinition, Op: "restore", Msg: fmt.Sprintf("no file defines job %q, so it cannot be restored", name),
						Params: map[string]any{"job": name},
					}
				}
				return nil
			}
			return c
		}
		fingerprint := def.Fingerprint()
		return e.define(def, jobhost.TopicJobRestored, &out.Value, func(*jobhost.Job) (jobhost.Source, string, bool) {
			return jobhost.SourceFile, fingerprint, true
		})
	})
}

// batch makes a command of each item, has them all done in as few turns as they fit in, and gives each its answer. item
// returns nil for one that it has answered itself.
func batch[In, Out any](ctx context.Context, e *Engine, items []In, item func(i int, x In, out *jobhost.Result[Out]) *command) []jobhost.Result[Out] {
	out := make([]jobhost.Result[Out], len(items))
	cmds := make([]*command, len(items))
	var queued []*command
	for i, x := range items {
		if cmds[i] = item(i, x, &out[i]); cmds[i] != nil {
			queued = append(queued, cmds[i])
		}
	}
	err := e.queue(ctx, queued...)
	for i, c := range cmds {
		switch {
		case c == nil:
		case err != nil:
			out[i].Err = err
		default:
			out[i].Err = c.wait(ctx)
		}
	}
	return out
}

func invalid(format string, args ...any) error {
	return &jobhost.Error{Code: jobhost.InvalidDefinition, Op: "define", Msg: fmt.Sprintf(format, args...)}
}

func notFoundJob(name jobhost.Name) error {
	return &jobhost.Error{
		Code: jobhost.NotFoundJob, Msg: fmt.Sprintf("job %q is not registered", name), Hint: "`jobhost job ls` lists the jobs",
		Params: map[string]any{"job": name},
	}
}

func notFoundTrigger(job, trigger jobhost.Name) error {
	return &jobhost.Error{
		Code: jobhost.NotFoundTrigger, Msg: fmt.Sprintf("job %q has no trigger %q", job, trigger),
		Hint: fmt.Sprintf("`jobhost job show %s` lists its triggers", job), Params: map[string]any{"job": job, "trigger": trigger},
	}
}

func unknownRun(id jobhost.RunID) error {
	return &jobhost.Error{
		Code: jobhost.NotFoundRun, Msg: fmt.Sprintf("run %q does not exist", id), Hint: "see jobhost run ls", Params: map[string]any{"run": string(id)},
	}
}

func notFoundRun(id jobhost.RunID, what string) error {
	return &jobhost.Error{
		Code: jobhost.NotFoundRun, Msg: fmt.Sprintf("run %q %s", id, what), Params: map[string]any{"run": string(id)},
	}
}
