package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// granted says in words what this node lets a job with a plugin use. It names no secret and no value of a variable.
func (n *node) granted(job, plugin jobhost.Name) []string {
	grants := n.grants.Load()
	if grants == nil {
		return nil
	}
	for _, g := range *grants {
		if g.Job == job && g.Plugin == plugin {
			return grantWords(g)
		}
	}
	return nil
}

// grantWords is a line for each thing that a grant gives.
func grantWords(g host.Grant) (words []string) {
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	for _, d := range g.Dirs {
		mode := d.Mode
		if mode == "" {
			mode = host.ReadOnly
		}
		most := ""
		if d.MaxWritten > 0 {
			most = fmt.Sprintf(", at most %s a run", sizeText(d.MaxWritten))
		}
		add("dir %s at %s (%s%s)", d.Host, d.Guest, mode, most)
	}
	for _, h := range g.HTTP {
		private := ""
		if h.Private {
			private = " (private addresses too)"
		}
		add("http %s%s", h.Host, private)
	}
	if len(g.Env) > 0 {
		add("env %s", strings.Join(slices.Sorted(maps.Keys(g.Env)), ", "))
	}
	if len(g.Secrets) > 0 {
		add("secrets %s", strings.Join(slices.Sorted(maps.Keys(g.Secrets)), ", "))
	}
	if len(g.Args) > 0 {
		add("%s", count(len(g.Args), "argument"))
	}
	if g.KV {
		add("kv")
	}
	if g.Clock == host.ClockPlanned {
		add("clock planned")
	}
	if g.MaxMemory > 0 {
		add("max_memory %s", mebibytes(g.MaxMemory))
	}
	for _, l := range []struct {
		name string
		n    int
	}{{"max_output", g.MaxOutput}, {"max_log", g.MaxLog}} {
		if l.n > 0 {
			add("%s %d bytes", l.name, l.n)
		}
	}
	if g.MaxFuel > 0 {
		add("max_fuel %d", g.MaxFuel)
	}
	return words
}
