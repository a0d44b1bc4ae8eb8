package config

import (
	"math"
	"path/filepath"
	"strconv"
	"time"

	"github.com/jobhost/jobhost"
)

// draft is what the files say at the top, before what depends on the rest is read.
type draft struct {
	Settings

	dir       string // where relative paths start
	lists     struct{ jobs, grants, calendars []value }
	drafts    []jobDraft                    // of all jobs, in order
	calendars map[jobhost.Name]Position     // that are defined, right or wrong; nil: not known here
	own       []grantDraft                  // of jobs, in place
	brought   map[jobhost.Name]jobhost.Name // plugins of the jobs that plugins bring
	at        map[string]value              // places of settings that are looked at once more
}

// topKeys is the table of everything. The sections that are lists are read later, when the variables are known.
func topKeys() table[draft] {
	return table[draft]{
		pathKey("data_dir", func(d *draft) *string { return &d.DataDir }, "", "where the store, the socket and caches are; made with mode 0700"),
		duration("shutdown_timeout", func(d *draft) *time.Duration { return &d.ShutdownTimeout }, notNegative,
			"how long a stop waits for runs before it cancels them; with `cancel_grace` below the 30s after which Kubernetes kills"),
		duration("cancel_grace", func(d *draft) *time.Duration { return &d.CancelGrace }, notNegative,
			"how long a run that was asked to stop may take to end by itself"),
		duration("drain_delay", func(d *draft) *time.Duration { return &d.DrainDelay }, notNegative,
			"how long a stop goes on accepting requests without starting scheduled runs"),
		section("scheduler", "when and how much is run", schedulerKeys()),
		section("store", "where jobs and history are kept", storeKeys()),
		section("plugins", "where plugins are found", pluginKeys()),
		section("http", "the management API", httpKeys()),
		section("telemetry", "traces; where they go is said by the standard `OTEL_*` variables alone", table[draft]{
			boolean("enabled", func(d *draft) *bool { return &d.Telemetry.Enabled }, "false: export nothing, whatever the variables say"),
		}),
		{
			name: "vars", kind: anObject, limits: "of names to text", adds: true,
			help: "the variables that `${name:-default}` reads in any string; a name may hold dots, a number needs no quotes",
			read: func(*draft, value) {}, // [draft.readFiles] has read them
		},
		{
			name: "calendars", kind: aList, adds: true, rows: calendarKeys().list, help: "sets of instants that schedules exclude by name",
			read: func(d *draft, v value) { d.lists.calendars = append(d.lists.calendars, v) },
		},
		{
			name: "grants", kind: aList, adds: true, rows: entryKeys().list, help: "what plugins may do in the runs of a job; nothing by default",
			read: func(d *draft, v value) { d.lists.grants = append(d.lists.grants, v) },
		},
		{
			name: "jobs", kind: aList, adds: true, rows: jobKeys().list, help: "what to run, and when",
			read: func(d *draft, v value) { d.lists.jobs = append(d.lists.jobs, v) },
		},
		notYet("leader", anObject, "a node leads itself over a store of its own"),
		notYet("notify", anObject, "follow the log, or query the history"),
	}
}

func schedulerKeys() table[draft] {
	return table[draft]{
		duration("poll_interval", func(d *draft) *time.Duration { return &d.Scheduler.PollInterval }, positive, "longest time between two looks at the store"),
		{
			name: "node_id", kind: aText, def: "host:pid:8 random characters", limits: "1 to 255 characters", help: "identity of the node",
			read: func(d *draft, v value) { readNodeID(&d.Scheduler.NodeID, v) },
		},
		integer("max_concurrent_runs", func(d *draft) *int { return &d.Scheduler.MaxConcurrentRuns }, "runs in progress on this node"),
		integer("acquire_batch_size", func(d *draft) *int { return &d.Scheduler.AcquireBatchSize }, "most triggers started in one cycle"),
		duration("misfire_threshold", func(d *draft) *time.Duration { return &d.Scheduler.MisfireThreshold }, notNegative,
			"a firing that is later than this is a misfire; 0: any lateness"),
		{
			name: "lease_resource", kind: aName, def: Defaults().Scheduler.LeaseResource, help: "name of the leader's lease",
			read: func(d *draft, v value) {
				if s, ok := v.name(); ok {
					d.Scheduler.LeaseResource = s
				}
			},
		},
		duration("lease_ttl", func(d *draft) *time.Duration { return &d.Scheduler.LeaseTTL }, positive, "how long a lease is valid without renewal"),
		duration("node_timeout", func(d *draft) *time.Duration { return &d.Scheduler.NodeTimeout }, positive, "a node that was silent for longer is lost"),
		duration("housekeeping_interval", func(d *draft) *time.Duration { return &d.Scheduler.HousekeepingInterval }, positive,
			"time between two rounds of recovery and clean-up"),
		duration("history_retention", func(d *draft) *time.Duration { return &d.Scheduler.HistoryRetention }, notNegative,
			"how long an ended run is kept; older ones go with the next housekeeping; on a store that is full the history of deleted jobs goes first, at once; 0: no limit by age"),
	}
}

func storeKeys() table[draft] {
	return table[draft]{
		{
			name: "kind", kind: aChoice, def: Defaults().Store.Kind, limits: "memory or bolt", help: "`memory` forgets everything at exit, `bolt` is a file",
			read: readStoreKind,
		},
		pathKey("path", func(d *draft) *string { return &d.Store.Path }, "<data_dir>/jobhost.db", "file of a `bolt` store"),
		sizeKey("max_size", func(d *draft) *int64 { return &d.Store.MaxSize }, rule[int64]{"0 or at least 4MiB", func(n int64) bool { return n == 0 || n >= 4<<20 }},
			"size at which a store takes no new runs; 0: no limit"),
		{
			name: "compact_above", kind: anInteger, def: strconv.Itoa(Defaults().Store.CompactAbove), limits: "0 to 99",
			help: "percent of a `bolt` file; when at least so much of it is free, a start rewrites it without what is free; 0: never",
			read: func(d *draft, v value) {
				if n, ok := integerIn[int](v, 0, 99); ok {
					d.Store.CompactAbove = n
				}
			},
		},
		sizeKey("compact_min_size", func(d *draft) *int64 { return &d.Store.CompactMinSize }, atLeast1MiB, "a start does not rewrite a file that is smaller"),
		notYet("dsn", aText, "stores are memory and bolt"),
	}
}

func pluginKeys() table[draft] {
	return table[draft]{
		pathKey("dir", func(d *draft) *string { return &d.Plugins.Dir }, "", "every *.wasm in it is loaded"),
		sizeKey("max_memory", func(d *draft) *uint64 { return &d.Plugins.MaxMemory }, memoryRule, "memory that one run may use"),
		sizeKey("max_total_memory", func(d *draft) *uint64 { return &d.Plugins.MaxTotalMemory }, atLeast1MiB,
			"memory that all runs together may use; not less than that of one"),
		integer("keep_versions", func(d *draft) *int { return &d.Plugins.KeepVersions },
			"modules of each plugin that are kept, the one that runs among them, so that ended runs can be replayed"),
	}
}

func httpKeys() table[draft] {
	return table[draft]{
		pathKey("socket", func(d *draft) *string { return &d.HTTP.Socket }, "<data_dir>/jobhost.sock", "path of the API's Unix socket; `/healthz` there answers as long as the process does, `/readyz` when it fires triggers"),
		notYet("listen", aText, apiIsLocal),
		notYet("auth", anObject, apiIsLocal),
		notYet("tls", anObject, apiIsLocal),
	}
}

const apiIsLocal = "the API is on the Unix socket"

// rule is a range of values.
type rule[T any] struct {
	words string
	ok    func(T) bool
}

// The ranges that several keys have.
var (
	positive    = rule[time.Duration]{"more than 0", func(d time.Duration) bool { return d > 0 }}
	notNegative = rule[time.Duration]{"0 or more", func(d time.Duration) bool { return d >= 0 }}
	atLeast1MiB = rule[int64]{"at least 1MiB", func(n int64) bool { return n >= 1<<20 }}
	memoryRule  = rule[int64]{"1MiB to 4GiB", func(n int64) bool { return n >= 1<<20 && n <= 4<<30 }}
)

func section(name, help string, sub table[draft]) field[draft] {
	return field[draft]{name: name, kind: anObject, help: help, sub: sub}
}

func notYet(name string, k kind, instead string) field[draft] {
	return field[draft]{name: name, kind: k, later: true, help: instead}
}

func duration(name string, at func(*draft) *time.Duration, r rule[time.Duration], help string) field[draft] {
	d := draft{Settings: Defaults()}
	return field[draft]{name: name, kind: aDuration, def: durationText(*at(&d)), limits: r.words, help: help, read: func(d *draft, v value) {
		d.at[v.key] = v
		if n, ok := v.durationIn(r); ok {
			*at(d) = n
		}
	}}
}

func sizeKey[N int64 | uint64](name string, at func(*draft) *N, r rule[int64], help string) field[draft] {
	d := draft{Settings: Defaults()}
	return field[draft]{name: name, kind: aSize, def: sizeText(*at(&d)), limits: r.words, help: help, read: func(d *draft, v value) {
		d.at[v.key] = v
		if n, ok := v.sizeIn(r); ok {
			*at(d) = N(n)
		}
	}}
}

func integer(name string, at func(*draft) *int, help string) field[draft] {
	d := draft{Settings: Defaults()}
	return field[draft]{name: name, kind: anInteger, def: strconv.Itoa(*at(&d)), limits: "1 or more", help: help, read: func(d *draft, v value) {
		if n, ok := integerIn[int](v, 1, math.MaxInt32); ok {
			*at(d) = n
		}
	}}
}

func boolean(name string, at func(*draft) *bool, help string) field[draft] {
	d := draft{Settings: Defaults()}
	return field[draft]{name: name, kind: aBoolean, def: strconv.FormatBool(*at(&d)), help: help, read: func(d *draft, v value) {
		if b, ok := v.boolean(); ok {
			*at(d) = b
		}
	}}
}

// pathKey reads a path; def is empty where the default is a plain value.
func pathKey(name string, at func(*draft) *string, def, help string) field[draft] {
	d := draft{Settings: Defaults()}
	if def == "" {
		def = *at(&d)
	}
	return field[draft]{name: name, kind: aPath, def: def, help: help, read: func(d *draft, v value) {
		d.at[v.key] = v
		if s, ok := v.filled(); ok {
			*at(d) = inDir(d.dir, s)
		}
	}}
}

// inDir lets a relative path start at dir.
func inDir(dir, path string) string {
	if dir == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

func readNodeID(into *string, v value) {
	s, ok := v.filled()
	switch {
	case ok && len(s) > 255:
		v.wrong("has %d characters", len(s))
	case ok:
		*into = s
	}
}

func readStoreKind(d *draft, v value) {
	switch s, ok := v.text(); {
	case !ok:
	case s == StoreMemory || s == StoreBolt:
		d.Store.Kind = s
	case s == "postgres":
		v.wrong("%q is not available yet", s)
	default:
		v.wrong("%s is no kind of store", quote(s))
	}
}

// durationIn reads a duration within a range.
func (v value) durationIn(r rule[time.Duration]) (time.Duration, bool) {
	d, ok := v.duration()
	if ok && !r.ok(d) {
		v.wrong("%s is out of range", v.show())
		return 0, false
	}
	return d, ok
}

// sizeIn reads a size within a range.
func (v value) sizeIn(r rule[int64]) (int64, bool) {
	n, ok := v.size()
	if ok && !r.ok(n) {
		v.wrong("%s is out of range", v.show())
		return 0, false
	}
	return n, ok
}

// durationText writes a duration as short as it can be read: 20s, 168h.
func durationText(d time.Duration) string {
	s := d.String()
	for _, tail := range []string{"m0s", "h0m"} {
		if n := len(s) - len(tail); n > 0 && s[n:] == tail {
			s = s[:n+1]
		}
	}
	return s
}
