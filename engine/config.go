package engine

import (
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/calendar"
)

// Config is what an engine can be told. Start from [Defaults]: zero means zero here. The names of the keys in messages
// are those of the configuration file (SPEC 25).
type Config struct {
	NodeID               string        // identity of this node, up to 255 characters; [NewNodeID] if empty
	PollInterval         time.Duration // longest time between two looks at the store; positive
	MaxConcurrentRuns    int           // runs in progress on this node; at least 1
	AcquireBatchSize     int           // most triggers claimed in one turn; at least 1
	MisfireThreshold     time.Duration // a firing later than this is a misfire; 0: any lateness
	HistoryRetention     time.Duration // how long an ended run is kept; 0: no limit by age
	HousekeepingInterval time.Duration // positive
	ShutdownTimeout      time.Duration // how long a stop waits for runs before it cancels them
	CancelGrace          time.Duration // from the request to end until the hard end
	DrainDelay           time.Duration // how long a stop drains before it refuses requests
	NodeTimeout          time.Duration // a node whose heartbeat is older is lost; positive
	LeaseResource        jobhost.Name  // what the nodes elect a leader of
	LeaseTTL             time.Duration // how long a leader is believed without renewal; positive
	Version              string        // of the program, for the node's record

	// Leader is the election. Nil means that there is none, and that this node leads: right for one process with a store of
	// its own, wrong for several with private stores, each of which would then fire every job (SPEC 30).
	Leader jobhost.Leader

	Calendars  calendar.Set         // those that schedules may name; see [Engine.SetCalendars]
	Middleware []jobhost.Middleware // outermost first
	Sinks      []jobhost.EventSink  // told what happens on this node
	Log        *slog.Logger         // nil: nothing is logged

	// Now is the wall clock. Tests set it; nil is time.Now. Timers are those of package time all the same.
	Now func() time.Time
}

// Defaults returns the configuration of SPEC 25.
func Defaults() Config {
	return Config{
		PollInterval:         time.Second,
		MaxConcurrentRuns:    32,
		AcquireBatchSize:     16,
		MisfireThreshold:     time.Minute,
		HistoryRetention:     168 * time.Hour,
		HousekeepingInterval: time.Minute,
		ShutdownTimeout:      20 * time.Second,
		CancelGrace:          5 * time.Second,
		NodeTimeout:          90 * time.Second,
		LeaseResource:        "scheduling.jobs",
		LeaseTTL:             30 * time.Second,
	}
}

// check reports every value that is out of its range.
func (c Config) check() error {
	var errs []error
	want := func(ok bool, key string, value any, want string) {
		if !ok {
			errs = append(errs, &jobhost.Error{
				Code: jobhost.InvalidDefinition, Op: "engine.new",
				Msg: fmt.Sprintf("%s is %v, want %s", key, value, want),
			})
		}
	}
	want(len(c.NodeID) <= 255, "node_id", c.NodeID, "at most 255 characters")
	want(c.PollInterval > 0, "poll_interval", c.PollInterval, "more than 0")
	want(c.MaxConcurrentRuns >= 1, "max_concurrent_runs", c.MaxConcurrentRuns, "1 or more")
	want(c.AcquireBatchSize >= 1, "acquire_batch_size", c.AcquireBatchSize, "1 or more")
	want(c.MisfireThreshold >= 0, "misfire_threshold", c.MisfireThreshold, "0 or more")
	want(c.HistoryRetention >= 0, "history_retention", c.HistoryRetention, "0 or more")
	want(c.HousekeepingInterval > 0, "housekeeping_interval", c.HousekeepingInterval, "more than 0")
	want(c.ShutdownTimeout >= 0, "shutdown_timeout", c.ShutdownTimeout, "0 or more")
	want(c.CancelGrace >= 0, "cancel_grace", c.CancelGrace, "0 or more")
	want(c.DrainDelay >= 0, "drain_delay", c.DrainDelay, "0 or more")
	want(c.NodeTimeout > 0, "node_timeout", c.NodeTimeout, "more than 0")
	want(c.LeaseTTL > 0, "lease_ttl", c.LeaseTTL, "more than 0")
	want(jobhost.ValidName(c.LeaseResource), "lease_resource", c.LeaseResource, "a name: 1 to 128 of a-z, 0-9, '.', '_', '-'")
	return errors.Join(errs...)
}

// NewNodeID makes up the identity of a node: host name, process id and eight random characters (SPEC 2).
func NewNodeID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return fmt.Sprintf("%s:%d:%s", host, os.Getpid(), rand.Text()[:8])
}
