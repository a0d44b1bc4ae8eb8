package config

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jobhost/jobhost"
)

// The bounds of jobs that come with a plugin. Whoever may put a file into the plugin folder is not always who configures the
// host: their jobs must not keep those of the configuration from running.
const (
	maxOwnJobs  = 1_000
	minOwnEvery = time.Second
	ownTimeout  = time.Hour // of a job for which the manifest says none
)

// ownJobKeys are the keys of a job in the manifest of a plugin.
func ownJobKeys(plugin jobhost.Name) table[jobDraft] {
	keys := jobKeys()
	keys = slices.DeleteFunc(keys, func(f field[jobDraft]) bool { return f.name == "grants" })
	for i := range keys {
		switch keys[i].name {
		case "timeout":
			keys[i].def, keys[i].limits = "the manifest's own, or "+durationText(ownTimeout), limited.words
		case "history_limit":
			keys[i].limits = "1 or more"
			keys[i].help = "most ended runs kept"
		case "triggers":
			keys[i].rows = ownTriggerKeys().list
		case "schedule":
			keys[i].help += "; " + leastEvery
		case "plugin":
			keys[i].required, keys[i].def, keys[i].help = false, "the manifest's own", "the plugin itself, if it is given"
			keys[i].read = func(_ *jobDraft, v value) {
				if s, ok := v.name(); ok && s != plugin {
					v.bad("%s is another plugin; a manifest has jobs of its own plugin, %s, only", quote(s), quote(plugin))
				}
			}
		}
	}
	return append(keys, field[jobDraft]{
		name: "grants", kind: anObject, later: true, help: "a manifest grants nothing; say it under wants, and the operator may grant it",
	})
}

const leastEvery = "an interval is 1s or more"

// ownTriggerKeys are the keys of a trigger in a manifest.
func ownTriggerKeys() table[triggerDraft] {
	keys := triggerKeys()
	for i := range keys {
		switch keys[i].name {
		case "schedule":
			keys[i].help += "; " + leastEvery
		case "priority":
			keys[i].limits = fmt.Sprintf("%d to %d", math.MinInt32, jobhost.DefaultPriority)
		}
	}
	return keys
}

func (m *manifestDraft) readJobs(v value) {
	seen := map[jobhost.Name]Position{}
	items := v.items()
	if len(items) > maxOwnJobs {
		v.bad("there are %d jobs; at most %d are allowed", len(items), maxOwnJobs)
		return
	}
	for _, item := range items {
		j := v.readJob(item, m.Key)
		m.bound(&j)
		if first, twice := seen[j.Def.Name]; twice {
			item.bad("a job of this name is defined already, at %v; want each name once", first)
			continue
		}
		if j.Def.Name != "" {
			seen[j.Def.Name] = j.Pos
		}
		m.drafts = append(m.drafts, j)
	}
}

// bound holds a job of the manifest against the bounds of such jobs, and gives it a time limit.
func (m *manifestDraft) bound(j *jobDraft) {
	if v, given := j.given["timeout"]; given && j.Def.Timeout == 0 {
		v.badOnce("a job of a manifest has a time limit; say which, or leave the key out for " + durationText(ownTimeout))
	}
	if v, given := j.given["history_limit"]; given && j.Def.HistoryLimit == 0 {
		v.badOnce("a job of a manifest keeps so many ended runs at most; want 1 or more")
	}
	for _, t := range j.triggers {
		if v, given := t.given["priority"]; given && t.Priority > jobhost.DefaultPriority {
			v.badOnce(fmt.Sprintf("%d is more than a manifest may say; want at most %d", t.Priority, jobhost.DefaultPriority))
		}
		if s, err := jobhost.ParseSchedule(t.Schedule); err == nil && s.Kind == jobhost.Every && s.Interval < minOwnEvery {
			t.given["schedule"].badOnce(fmt.Sprintf("%s is less than a manifest may say; want %s or more", s.Interval, durationText(minOwnEvery)))
		}
	}
	if !j.TimeoutGiven {
		j.Def.Timeout = cmp.Or(m.Timeout, ownTimeout)
	}
}

// supply gives a job what it does not say itself.
func (m *manifestDraft) supply(j *jobDraft) {
	if !j.TimeoutGiven && j.Def.Timeout == 0 {
		j.Def.Timeout = m.Timeout
	}
	if !j.RetryGiven {
		j.Def.Retry = m.Retry
	}
}
