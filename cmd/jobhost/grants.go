package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/jobhost/jobhost/config"
	"github.com/jobhost/jobhost/host"
)

// grantsOf are the grants of the settings, as the host takes them.
func grantsOf(s *config.Settings) (grants []host.Grant) {
	for _, g := range s.Grants {
		grant := host.Grant{
			Job: g.Job, Plugin: g.Plugin, Args: g.Args, Env: g.Env, KV: g.KV, Clock: host.Clock(g.Clock),
			MaxMemory: g.MaxMemory, MaxOutput: g.MaxOutput, MaxLog: g.MaxLog, MaxFuel: g.MaxFuel,
		}
		for _, d := range g.Dirs {
			mode := host.ReadOnly
			if d.Write {
				mode = host.ReadWrite
			}
			grant.Dirs = append(grant.Dirs, host.Dir{Host: d.Host, Guest: d.Guest, Mode: mode})
		}
		for name, secret := range g.Secrets {
			if grant.Secrets == nil {
				grant.Secrets = map[string]host.Secret{}
			}
			grant.Secrets[name] = host.Secret{Env: secret.Env, File: secret.File}
		}
		for _, h := range g.HTTP {
			grant.HTTP = append(grant.HTTP, host.HTTP{Host: h.Host, Private: h.Private})
		}
		grants = append(grants, grant)
	}
	return grants
}

// secretWarnings says which secrets cannot be read now, and which are too short to be hidden. Runs read them anew, so that
// neither keeps a host from starting.
func secretWarnings(s *config.Settings) (warnings config.Problems) {
	for _, g := range s.Grants {
		for _, name := range slices.Sorted(maps.Keys(g.Secrets)) {
			secret := g.Secrets[name]
			v, err := host.Secret{Env: secret.Env, File: secret.File}.Read()
			var msg string
			switch {
			case err != nil:
				msg = "runs of the job fail without it: " + err.Error()
			case len(v) < host.MinSecret:
				msg = fmt.Sprintf("has %d bytes; one of less than %d is not hidden in logs and output", len(v), host.MinSecret)
			default:
				continue
			}
			warnings = append(warnings, config.Problem{Pos: secret.Pos, Key: fmt.Sprintf("grants[%s].secrets.%s", g.Job, name), Msg: msg})
		}
	}
	return warnings
}
