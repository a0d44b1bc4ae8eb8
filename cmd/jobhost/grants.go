package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
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
			grant.Dirs = append(grant.Dirs, host.Dir{Host: d.Host, Guest: d.Guest, Mode: mode, MaxWritten: d.MaxWritten})
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

// grantWarnings says which grants runs would fail with as things are for this process.
func grantWarnings(s *config.Settings) config.Problems {
	return slices.Concat(dirWarnings(s), secretWarnings(s))
}

// grantsElsewhere says the same for a host that may be started elsewhere, with other variables.
func grantsElsewhere(s *config.Settings) config.Problems {
	warnings := secretWarnings(s)
	for i, w := range warnings {
		if name, ok := absentSecret(s, w.Pos); ok {
			warnings[i].Msg = fmt.Sprintf("there is no environment variable %s here; runs of the job fail where the host is started without it", name)
		}
	}
	return slices.Concat(dirWarnings(s), warnings)
}

// absentSecret returns the variable of the secret at a place if this process does not have it.
func absentSecret(s *config.Settings, at config.Position) (name string, absent bool) {
	for _, g := range s.Grants {
		for _, secret := range g.Secrets {
			if secret.Pos == at && secret.Env != "" {
				_, there := os.LookupEnv(secret.Env)
				return secret.Env, !there
			}
		}
	}
	return "", false
}

// dirWarnings says which granted directories are not there. A run looks anew, so that none keeps a host from starting.
func dirWarnings(s *config.Settings) (warnings config.Problems) {
	for _, g := range s.Grants {
		for _, d := range g.Dirs {
			info, err := os.Stat(d.Host)
			var msg string
			switch {
			case errors.Is(err, fs.ErrNotExist):
				msg = fmt.Sprintf("the directory %s is not there; make it: mkdir -p %[1]s", d.Host)
			case err != nil:
				msg = "the directory cannot be used: " + err.Error()
			case !info.IsDir():
				msg = d.Host + " is no directory"
			default:
				continue
			}
			warnings = append(warnings, config.Problem{Pos: d.Pos, Key: fmt.Sprintf("grants[%s].dirs", g.Job), Msg: "runs of the job fail without it: " + msg})
		}
	}
	return warnings
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
