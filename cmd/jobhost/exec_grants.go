package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host"
)

// flags adds the flags of a trial to a command.
func (t *trial) flags(cmd *cobra.Command) {
	t.config, t.data = configFlag(cmd), dataFlag(cmd)
	flags := cmd.Flags()
	flags.StringVar(&t.job, "job", "", "run as this job of the configuration")
	flags.Var((*limit)(&t.timeout), "timeout", "time limit of the run (default: none)")
	flags.StringArrayVar(&t.dirs, "dir", nil, "folder to grant: host:guest:ro or host:guest:rw")
	flags.StringArrayVar(&t.env, "env", nil, "environment variable to grant: NAME=value")
	flags.StringArrayVar(&t.args, "arg", nil, "argument to grant")
	flags.StringArrayVar(&t.hosts, "http", nil, "host to grant for HTTP requests, such as api.example.com or http://localhost:8080")
	flags.BoolVar(&t.private, "private", false, "the hosts of --http may be at addresses that are not of the public internet")
	flags.StringArrayVar(&t.secrets, "secret", nil, "secret to grant: NAME=env:VARIABLE or NAME=file:path")
	flags.StringVar(&t.values, "kv", "", "grant durable values and keep them in this JSON file, in base64")
	flags.StringVar(&t.now, "now", "", "planned time of the run, which its clock begins at: RFC 3339 (default: the clock's)")
}

// grants adds what the flags grant.
func (t *trial) grants(g *host.Grant) error {
	g.Args = append(g.Args, t.args...)
	for _, e := range t.env {
		name, value, ok := strings.Cut(e, "=")
		if !ok {
			return usage("--env is %q; want NAME=value", e)
		}
		if g.Env == nil {
			g.Env = map[string]string{}
		}
		g.Env[name] = value
	}
	for _, d := range t.dirs {
		parts := strings.Split(d, ":")
		n := len(parts)
		if n < 3 || parts[n-1] != string(host.ReadOnly) && parts[n-1] != string(host.ReadWrite) {
			return usage("--dir is %q; want host:guest:ro or host:guest:rw", d)
		}
		g.Dirs = append(g.Dirs, host.Dir{Host: strings.Join(parts[:n-2], ":"), Guest: parts[n-2], Mode: host.Mode(parts[n-1])})
	}
	for _, h := range t.hosts {
		if _, err := abi.ParseHostPattern(h); err != nil {
			return usage("--http: %w", err)
		}
		g.HTTP = append(g.HTTP, host.HTTP{Host: h, Private: t.private})
	}
	if g.KV = g.KV || t.values != ""; t.now != "" {
		g.Clock = host.ClockPlanned
	}
	return t.grantSecrets(g)
}

func (t *trial) grantSecrets(g *host.Grant) error {
	for _, s := range t.secrets {
		name, place, _ := strings.Cut(s, "=")
		kind, at, _ := strings.Cut(place, ":")
		secret := map[string]host.Secret{"env": {Env: at}, "file": {File: at}}[kind]
		if name == "" || at == "" || secret == (host.Secret{}) {
			return usage("--secret is %q; want NAME=env:VARIABLE or NAME=file:path", s)
		}
		if g.Secrets == nil {
			g.Secrets = map[string]host.Secret{}
		}
		g.Secrets[name] = secret
	}
	return nil
}
