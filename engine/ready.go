package engine

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"time"

	"github.com/jobhost/jobhost"
)

// refresh asks once per poll interval which plugins can run here. When that changed, what was held is looked at again.
func (e *Engine) refresh(ctx context.Context, now time.Time) {
	if age := now.Sub(e.listed); age >= 0 && age < e.cfg.PollInterval {
		return
	}
	list, err := e.runner.Plugins(ctx)
	if err != nil {
		e.log.ErrorContext(ctx, "plugins cannot be listed", slog.Any("err", err))
		return
	}
	if ps := listPlugins(list); !maps.Equal(ps, e.plugins) {
		e.plugins, e.held.jobs = ps, nil
	}
	e.listed = now
}

// plugins maps the key of each loaded plugin to why it cannot run here; "" when it can.
type plugins map[jobhost.Name]string

func listPlugins(list []jobhost.Plugin) plugins {
	out := make(plugins, len(list))
	for _, p := range list {
		out[p.Key] = ""
		if !p.Ready {
			out[p.Key] = "plugin " + p.Key + " is not ready: " + cmp.Or(p.Problem, "it is being compiled")
		}
	}
	return out
}

// why says why a plugin cannot run here, "" when it can.
func (p plugins) why(key jobhost.Name) string {
	why, ok := p[key]
	if !ok {
		return "plugin " + key + " is not loaded on this node"
	}
	return why
}
