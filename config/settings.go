package config

import (
	"path/filepath"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/calendar"
)

// Settings are everything that the sources say, checked and with defaults filled in. Start from [Defaults] to make some
// without a file.
type Settings struct {
	DataDir         string        // of the store, the socket and caches
	ShutdownTimeout time.Duration // how long a stop waits for runs before it cancels them; 0 or more
	CancelGrace     time.Duration // from the request to end until the hard end; 0 or more
	DrainDelay      time.Duration // how long a stop drains before it refuses requests; 0 or more

	Scheduler Scheduler
	Store     Store
	Plugins   Plugins
	HTTP      HTTP
	Telemetry Telemetry

	Calendars calendar.Set // those that schedules may name
	Jobs      []Job        // in the order of files
	Grants    []Grant      // at most one for each job and plugin
	Manifests []Manifest   // of plugins, in the order of [Sources.Manifests]; their jobs are among Jobs

	LeftOut []Problem // why plugins bring no jobs: their manifests do not go together with the rest. One for each plugin

	Vars map[string]string // the section vars; nil: there is none

	Warnings []Problem // what is allowed and looks wrong
}

// Scheduler is the section scheduler (SPEC 25).
type Scheduler struct {
	PollInterval         time.Duration // more than 0
	NodeID               string        // up to 255 characters; empty: the engine makes one up
	MaxConcurrentRuns    int           // 1 or more
	AcquireBatchSize     int           // 1 or more
	MisfireThreshold     time.Duration // 0 or more; 0: any lateness is a misfire
	LeaseResource        jobhost.Name
	LeaseTTL             time.Duration // more than 0
	NodeTimeout          time.Duration // more than 0
	HousekeepingInterval time.Duration // more than 0
	HistoryRetention     time.Duration // 0 or more; 0: no limit by age
}

// The kinds of store.
const (
	StoreMemory = "memory"
	StoreBolt   = "bolt"
)

// Store is the section store.
type Store struct {
	Kind    string // StoreMemory or StoreBolt
	Path    string // of a bolt store
	MaxSize int64  // bytes; 0: no limit

	CompactAbove   int   // percent of the file, 0 to 99: when at least so much of it is free, the start compacts it; 0: never
	CompactMinSize int64 // bytes; a smaller file is left as it is
}

// Plugins is the section plugins.
type Plugins struct {
	Dir            string
	MaxMemory      uint64 // bytes that one run may use, unless a grant says otherwise
	MaxTotalMemory uint64 // bytes that all runs together may use; not less than MaxMemory
	KeepVersions   int    // modules of each plugin that are kept
}

// HTTP is the section http.
type HTTP struct {
	Socket string // path of the Unix socket that the API is on
}

// Telemetry is the section telemetry. Where traces go is said by the OTEL_* variables.
type Telemetry struct {
	Enabled bool // false: nothing is exported, whatever the variables say
}

// Job is a definition of a file.
type Job struct {
	Def jobhost.JobDef // has passed [jobhost.JobDef.Check]; schedules are canonical text
	Pos Position

	// Fingerprint is that of Def (SPEC 21).
	Fingerprint string

	// TimeoutGiven and RetryGiven tell "none" from silence, where a manifest's default applies (SPEC 4).
	TimeoutGiven, RetryGiven bool
}

// Grant is what a plugin may do in the runs of one job; zero values are the host's defaults, which are nothing or the
// usual limit. It binds to job and plugin together, and is no part of a definition.
type Grant struct {
	Job    jobhost.Name
	Plugin jobhost.Name
	Pos    Position

	Args    []string          // arguments after the job's name
	Env     map[string]string // further environment variables
	Dirs    []Dir
	Secrets map[string]Secret // further environment variables; no name is in Env, too
	HTTP    []HTTPHost        // where requests may go
	KV      bool              // durable values
	Clock   string            // ClockReal or ClockPlanned; empty: the former

	MaxMemory uint64 // bytes; 0: that of [Plugins]
	MaxOutput int    // bytes; 0: the host's default
	MaxLog    int    // bytes; 0: the host's default
	MaxFuel   uint64 // instructions, roughly; 0: no limit
}

// Secret is where a secret is read when a run starts: one of both is given.
type Secret struct {
	Env  string // a variable of the host
	File string // a path on this machine
	Pos  Position
}

// HTTPHost is where requests may go.
type HTTPHost struct {
	Host    string // a pattern as [abi.ParseHostPattern] reads it
	Private bool   // also at addresses that are not of the public internet
	Pos     Position
}

// The clocks that a grant may give.
const (
	ClockReal    = "real"
	ClockPlanned = "planned"
)

// Dir mounts a directory.
type Dir struct {
	Host  string // path on this machine
	Guest string // absolute, slash-separated and clean
	Write bool
	// MaxWritten is how many bytes one run may write; 0: as many as it likes.
	MaxWritten int64
	Pos        Position
}

// Defaults returns the settings that empty sources give.
func Defaults() Settings {
	s := Settings{
		DataDir:         "./.jobhost",
		ShutdownTimeout: 20 * time.Second,
		CancelGrace:     5 * time.Second,
		Scheduler: Scheduler{
			PollInterval:         time.Second,
			MaxConcurrentRuns:    32,
			AcquireBatchSize:     16,
			MisfireThreshold:     time.Minute,
			LeaseResource:        "scheduling.jobs",
			LeaseTTL:             30 * time.Second,
			NodeTimeout:          90 * time.Second,
			HousekeepingInterval: time.Minute,
			HistoryRetention:     168 * time.Hour,
		},
		Store:     Store{Kind: StoreBolt, CompactAbove: 50, CompactMinSize: 64 << 20},
		Plugins:   Plugins{Dir: "./plugins", MaxMemory: abi.MaxMemory, MaxTotalMemory: 2 << 30, KeepVersions: 5},
		Telemetry: Telemetry{Enabled: true},
	}
	s.derive()
	return s
}

// derive fills in the paths that follow from the data directory.
func (s *Settings) derive() {
	if s.Store.Path == "" {
		s.Store.Path = filepath.Join(s.DataDir, "jobhost.db")
	}
	if s.HTTP.Socket == "" {
		s.HTTP.Socket = filepath.Join(s.DataDir, "jobhost.sock")
	}
}
