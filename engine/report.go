package engine

import (
	"log/slog"

	"github.com/jobhost/jobhost"
)

// report logs what the turn decided, after its commit.
func (t *turn) report(log *slog.Logger) {
	for _, f := range t.fired {
		if t.quiet {
			break
		}
		if f.State == jobhost.TriggerComplete {
			log.Warn("no next fire", slog.String("job", f.Key.Job), slog.String("trigger", f.Key.Trigger), slog.String("why", t.plans.whyComplete(f, t.now)))
		} else {
			log.Info("next fire", slog.String("job", f.Key.Job), slog.String("trigger", f.Key.Trigger), slog.Time("at", f.Due))
		}
	}
	for _, d := range t.ends {
		d.report(log)
	}
	for n, why := range t.newHeld.jobs {
		if t.held.jobs[n] == "" {
			log.Error("due, but not startable here", slog.String("job", n), slog.String("why", why))
		}
	}
	for k, why := range t.newHeld.triggers {
		if t.held.triggers[k] == "" {
			log.Error("due, but not startable here", slog.String("job", k.Job), slog.String("trigger", k.Trigger), slog.String("why", why))
		}
	}
}

// report logs an end that somebody has to know of, in one line.
func (d ended) report(log *slog.Logger) {
	r := d.run
	attrs := []any{slog.String("job", r.Job), slog.String("run", string(r.ID)), slog.Int("attempt", r.Attempt)}
	const most = 512 // of a text that may be the plugin's
	switch r.State {
	case jobhost.RunFailed:
		attrs = append(attrs, slog.String("code", string(r.ErrorCode)), slog.String("message", cut(r.ErrorMessage, most)), slog.Bool("retried", !d.next.IsZero()))
		if !d.next.IsZero() {
			attrs = append(attrs, slog.Time("retryAt", d.next))
		}
		log.Warn("a run failed", attrs...)
	case jobhost.RunLost:
		log.Info("a run was lost", append(attrs, slog.String("message", cut(r.ErrorMessage, most)), slog.Bool("recovered", !d.next.IsZero()))...)
	case jobhost.RunPending, jobhost.RunRunning, jobhost.RunSucceeded, jobhost.RunCanceled:
	}
}
