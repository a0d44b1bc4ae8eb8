package config

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

// jobDraft is a job while it is read.
type jobDraft struct {
	Job

	schedule  *value // the shorthand
	triggers  []triggerDraft
	at        value
	given     map[string]value
	open      bool // something in it is not known: it is wrong, or needs a variable that may stand in a file that could not be read
	grants    *value
	calendars []wanted
}

// triggerDraft is a trigger while it is read.
type triggerDraft struct {
	jobhost.TriggerDef

	at       value
	given    map[string]value
	calendar wanted
}

// wanted is a calendar that a schedule names.
type wanted struct {
	name jobhost.Name
	at   value
}

// limited is the range of time limits (SPEC 4 and 17).
var limited = rule[time.Duration]{
	"more than 0, at most " + durationText(jobhost.TimeoutLimit),
	func(d time.Duration) bool { return d > 0 && d <= jobhost.TimeoutLimit },
}

const none = "none"

func jobKeys() table[jobDraft] {
	return table[jobDraft]{
		{name: "name", kind: aName, required: true, help: "unique over all files", read: func(j *jobDraft, v value) { j.Def.Name, _ = v.name() }},
		{name: "plugin", kind: aName, required: true, help: "key of the plugin to call", read: func(j *jobDraft, v value) { j.Def.Plugin, _ = v.name() }},
		{
			name: "schedule", kind: aSchedule, help: "short for one trigger named `default`; `manual`: only on request; not together with `triggers`",
			read: func(j *jobDraft, v value) { j.schedule = &v },
		},
		{name: "triggers", kind: aList, rows: triggerKeys().list, help: "when to run; none: only on request", read: readTriggers},
		{name: "data", kind: anObject, def: "{}", help: "what the plugin gets, as JSON", read: func(j *jobDraft, v value) { j.Def.Data = v.object() }},
		{
			name: "allow_concurrent", kind: aBoolean, def: "false", help: "whether runs of the job may overlap",
			read: func(j *jobDraft, v value) { j.Def.AllowConcurrent, _ = v.boolean() },
		},
		{name: "run_on_every_instance", kind: aBoolean, def: "false", limits: "only false for now", help: "a local job", read: readLocal},
		{
			name: "requests_recovery", kind: aBoolean, def: "false", help: "run once more when the node of a run is lost",
			read: func(j *jobDraft, v value) { j.Def.RequestsRecovery, _ = v.boolean() },
		},
		{name: "retry", kind: anObject, def: none, rows: retryKeys().list, help: "when a failed run is tried again", read: readRetry},
		{
			name: "timeout", kind: aDuration, def: none, limits: limited.words + ", or none", help: "time limit of one attempt",
			read: func(j *jobDraft, v value) {
				j.TimeoutGiven = true
				j.Def.Timeout = v.durationOrNone()
			},
		},
		{name: "description", kind: aText, help: "free text", read: func(j *jobDraft, v value) { j.Def.Description, _ = v.text() }},
		{
			name: "history_limit", kind: anInteger, def: strconv.Itoa(jobhost.DefaultHistoryLimit), limits: "0 or more",
			help: "most ended runs kept; those beyond it go at the next `scheduler.housekeeping_interval`, so that there can be more for so long; on a store that is full the history of deleted jobs goes first, at once; 0: no limit by count",
			read: func(j *jobDraft, v value) {
				if n, ok := integerIn[int](v, 0, math.MaxInt32); ok {
					j.Def.HistoryLimit = n
				}
			},
		},
		{
			name: "grants", kind: anObject, help: "what the plugin may do: short for an entry of the section `grants` without `job` and `plugin`",
			read: func(j *jobDraft, v value) { j.grants = &v },
		},
	}
}

func triggerKeys() table[triggerDraft] {
	return table[triggerDraft]{
		{name: "name", kind: aName, required: true, help: "unique in the job", read: func(t *triggerDraft, v value) { t.Name, _ = v.name() }},
		{name: "schedule", kind: aSchedule, required: true, help: "anything but `manual`", read: func(t *triggerDraft, v value) { t.readSchedule(v) }},
		{name: "data", kind: anObject, def: "{}", help: "laid over the job's data", read: func(t *triggerDraft, v value) { t.Data = v.object() }},
		{
			name: "priority", kind: anInteger, def: strconv.Itoa(jobhost.DefaultPriority), limits: fmt.Sprintf("%d to %d", math.MinInt32, math.MaxInt32),
			help: "larger goes first when more is due than can start",
			read: func(t *triggerDraft, v value) {
				if n, ok := integerIn[int32](v, math.MinInt32, math.MaxInt32); ok {
					t.Priority = n
				}
			},
		},
		{
			name: "misfire", kind: aChoice, def: jobhost.MisfireRunOnce.String(), limits: "run_once, skip or run_all",
			help: "what becomes of a firing that is late by more than `misfire_threshold`; `run_all` makes up for one per `poll_interval`, and never two at once", read: readMisfire,
		},
		{
			name: "start_deadline", kind: aDuration, def: none, limits: "more than 0, or none", help: "a firing later than this is skipped",
			read: func(t *triggerDraft, v value) { t.StartDeadline = v.noneOr(positive) },
		},
		{name: "description", kind: aText, help: "free text", read: func(t *triggerDraft, v value) { t.Description, _ = v.text() }},
	}
}

// readJob reads a job, of the manifest of a plugin if there is one. It is usable when nothing was reported and it is not open.
func (r *reader) readJob(v value, plugin jobhost.Name) jobDraft {
	j := jobDraft{Job: Job{Def: jobhost.NewJob("", plugin), Pos: v.pos}, at: v}
	keys, unknown, problems := jobKeys(), r.unknown, len(r.problems)+r.more
	if plugin != "" {
		keys = ownJobKeys(plugin)
	}
	given := keys.read(&j, v)
	if given == nil {
		return j
	}
	j.given = given
	if j.schedule != nil {
		j.readShorthand(*j.schedule, given)
	}
	first := map[jobhost.Name]value{}
	for _, t := range j.triggers {
		if prev, twice := first[t.Name]; twice && t.Name != "" {
			t.at.bad("the job has two triggers of this name; the first is at %v", prev.pos)
			continue
		}
		first[t.Name] = t.at
		j.Def.Triggers = append(j.Def.Triggers, t.TriggerDef)
		if t.calendar.name != "" {
			j.calendars = append(j.calendars, t.calendar)
		}
		if r.unknown == unknown {
			j.checkTrigger(t)
		}
	}
	if r.unknown == unknown {
		j.check(v, given)
	}
	j.open = r.unknown > unknown || len(r.problems)+r.more > problems
	return j
}

// readShorthand turns the key schedule into a trigger.
func (j *jobDraft) readShorthand(v value, given map[string]value) {
	if _, both := given["triggers"]; both {
		v.bad("stands together with triggers; want one of them")
		return
	}
	s, ok := v.schedule()
	if !ok || s.Kind == jobhost.Manual {
		return
	}
	t := triggerDraft{TriggerDef: jobhost.NewTrigger("default", s.String()), at: v, given: map[string]value{"schedule": v}}
	t.calendar = wanted{s.Calendar, v}
	j.triggers = append(j.triggers, t)
}

func readTriggers(j *jobDraft, v value) {
	for _, item := range v.items() {
		t := triggerDraft{TriggerDef: jobhost.NewTrigger("", ""), at: item}
		if t.given = triggerKeys().read(&t, item); t.given == nil {
			continue
		}
		j.triggers = append(j.triggers, t)
	}
}

func (t *triggerDraft) readSchedule(v value) {
	switch s, ok := v.schedule(); {
	case ok && s.Kind == jobhost.Manual:
		v.bad("%s is not for a trigger; leave the trigger out, a job without triggers runs only on request", v.show())
	case ok:
		t.Schedule, t.calendar = s.String(), wanted{s.Calendar, v}
	}
}

// schedule reads schedule text of SPEC 6.2.
func (v value) schedule() (jobhost.Schedule, bool) {
	text, ok := v.text()
	if !ok {
		return jobhost.Schedule{}, false
	}
	s, err := jobhost.ParseSchedule(text)
	if err != nil {
		v.bad("%s: %v", quote(text), err)
	}
	return s, err == nil
}

// check asks the definition itself, without its triggers, and reports what it says at the key it says it of, unless
// something is reported there already.
func (j *jobDraft) check(v value, given map[string]value) {
	def := j.Def
	def.Triggers = nil
	for _, e := range complaints(def) {
		key, msg, _ := strings.Cut(strings.TrimPrefix(e.Msg, fmt.Sprintf("job %q: ", def.Name)), ": ")
		at, ok := given[key]
		if !ok {
			at, msg = v.child(keyText(key), v.node), e.Msg
		}
		at.badOnce(msg)
	}
}

// checkTrigger does the same with one trigger, over the job's data.
func (j *jobDraft) checkTrigger(t triggerDraft) {
	def := jobhost.NewJob("job", "plugin", t.TriggerDef)
	def.Data = j.Def.Data
	for _, e := range complaints(def) {
		msg, ours := strings.CutPrefix(e.Msg, fmt.Sprintf("job %q: trigger %q: ", def.Name, t.Name))
		if !ours {
			continue // about the data of the job, which is the job's affair
		}
		word, _, _ := strings.Cut(msg, " ")
		key := map[string]string{"the": "name", "merged": "data"}[word]
		if key == "" {
			key = word
		}
		at, ok := t.given[key]
		if !ok {
			at = t.at.child(keyText(key), t.at.node)
		}
		at.badOnce(msg)
	}
}

// complaints are the errors of a definition one by one.
func complaints(d jobhost.JobDef) []*jobhost.Error {
	var list []*jobhost.Error
	if joined, ok := d.Check().(interface{ Unwrap() []error }); ok {
		for _, err := range joined.Unwrap() {
			if e, ok := err.(*jobhost.Error); ok { //nolint:errorlint // Check wraps nothing
				list = append(list, e)
			}
		}
	}
	return list
}

// badOnce reports a problem unless the key, or one below it, has one. Once the list is full that cannot be told any more.
func (v value) badOnce(msg string) {
	if len(v.problems) < maxProblems && !slices.ContainsFunc(v.problems, func(p Problem) bool {
		return p.Key == v.key || strings.HasPrefix(p.Key, v.key+".") || strings.HasPrefix(p.Key, v.key+"[")
	}) {
		v.bad("%s", msg)
	}
}

func readLocal(_ *jobDraft, v value) {
	if local, ok := v.boolean(); ok && local {
		v.bad("true: local jobs are not available yet; leave the key out")
	}
}

func readMisfire(t *triggerDraft, v value) {
	if s, ok := v.text(); ok && t.Misfire.UnmarshalText([]byte(s)) != nil {
		v.wrong("%s is no misfire policy", quote(s))
	}
}
