package main

import (
	"path/filepath"

	"github.com/jobhost/jobhost/config"
)

// startOnly lists the settings in which two configurations differ and which a running host does not change: all but jobs,
// calendars and grants.
func startOnly(was, is *config.Settings) (keys []string) {
	for _, s := range []struct {
		key     string
		differs bool
	}{
		{"data_dir", was.DataDir != is.DataDir},
		{"shutdown_timeout", was.ShutdownTimeout != is.ShutdownTimeout},
		{"cancel_grace", was.CancelGrace != is.CancelGrace},
		{"drain_delay", was.DrainDelay != is.DrainDelay},
		{"scheduler.poll_interval", was.Scheduler.PollInterval != is.Scheduler.PollInterval},
		{"scheduler.node_id", was.Scheduler.NodeID != is.Scheduler.NodeID},
		{"scheduler.max_concurrent_runs", was.Scheduler.MaxConcurrentRuns != is.Scheduler.MaxConcurrentRuns},
		{"scheduler.acquire_batch_size", was.Scheduler.AcquireBatchSize != is.Scheduler.AcquireBatchSize},
		{"scheduler.misfire_threshold", was.Scheduler.MisfireThreshold != is.Scheduler.MisfireThreshold},
		{"scheduler.lease_resource", was.Scheduler.LeaseResource != is.Scheduler.LeaseResource},
		{"scheduler.lease_ttl", was.Scheduler.LeaseTTL != is.Scheduler.LeaseTTL},
		{"scheduler.node_timeout", was.Scheduler.NodeTimeout != is.Scheduler.NodeTimeout},
		{"scheduler.housekeeping_interval", was.Scheduler.HousekeepingInterval != is.Scheduler.HousekeepingInterval},
		{"scheduler.history_retention", was.Scheduler.HistoryRetention != is.Scheduler.HistoryRetention},
		{"store.kind", was.Store.Kind != is.Store.Kind},
		{"store.path", apart(was, was.Store.Path) != apart(is, is.Store.Path)},
		{"store.max_size", was.Store.MaxSize != is.Store.MaxSize},
		{"store.compact_above", was.Store.CompactAbove != is.Store.CompactAbove},
		{"store.compact_min_size", was.Store.CompactMinSize != is.Store.CompactMinSize},
		{"plugins.dir", was.Plugins.Dir != is.Plugins.Dir},
		{"plugins.max_memory", was.Plugins.MaxMemory != is.Plugins.MaxMemory},
		{"plugins.max_total_memory", was.Plugins.MaxTotalMemory != is.Plugins.MaxTotalMemory},
		{"plugins.keep_versions", was.Plugins.KeepVersions != is.Plugins.KeepVersions},
		{"http.socket", apart(was, was.HTTP.Socket) != apart(is, is.HTTP.Socket)},
		{"telemetry.enabled", was.Telemetry.Enabled != is.Telemetry.Enabled},
	} {
		if s.differs {
			keys = append(keys, s.key)
		}
	}
	return keys
}

// apart is a path as it is seen from the data folder, so that one which only follows that folder is the same.
func apart(s *config.Settings, path string) string {
	if rel, err := filepath.Rel(s.DataDir, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}
