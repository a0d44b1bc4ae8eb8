package config

import (
	"math"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// maxLog is the most of a run's log that a grant may keep.
const maxLog = 1 << 20

// grantDraft is a grant while it is read.
type grantDraft struct {
	Grant

	at    value
	given map[string]value
}

// entryKeys are the keys of an entry of the section grants: whom it is for, and what it gives.
func entryKeys() table[grantDraft] {
	return append(table[grantDraft]{
		{name: "job", kind: aName, required: true, help: "the job that it is for", read: func(g *grantDraft, v value) { g.Job, _ = v.name() }},
		{
			name: "plugin", kind: aName, def: "that of the job", help: "binds the grant to this plugin; needed where no file defines the job",
			read: func(g *grantDraft, v value) { g.Plugin, _ = v.name() },
		},
	}, grantKeys()...)
}

// grantKeys are the keys of jobs[].grants.
func grantKeys() table[grantDraft] {
	return table[grantDraft]{
		{name: "args", kind: aList, limits: "of text", help: "arguments after the job's name", read: func(g *grantDraft, v value) { g.Args = v.texts() }},
		{name: "env", kind: anObject, limits: "of names to text", help: "further environment variables", read: readEnv},
		{name: "dirs", kind: aList, rows: dirKeys().list, help: "directories that the guest sees", read: readDirs},
		sizeGrant("max_memory", func(g *grantDraft) *uint64 { return &g.MaxMemory }, "plugins.max_memory", memoryRule, "memory of one run"),
		sizeGrant("max_output", func(g *grantDraft) *int { return &g.MaxOutput }, sizeText(abi.MaxOutput), upTo(abi.MaxOutputEver), "output of one run"),
		sizeGrant("max_log", func(g *grantDraft) *int { return &g.MaxLog }, sizeText(abi.MaxLog), upTo(maxLog), "log of one run that is kept"),
		{
			name: "max_fuel", kind: anInteger, def: "no limit", limits: "1 or more", help: "instructions that one run may take, roughly",
			read: func(g *grantDraft, v value) { g.MaxFuel, _ = integerIn[uint64](v, 1, math.MaxInt64) },
		},
		{
			name: "secrets", kind: anObject, limits: "of names to `{env: NAME}` or `{file: path}`",
			help: "environment variables that are read when a run starts, and hidden in its log, output, failure, progress and spans",
			read: readSecrets,
		},
		{name: "http", kind: aList, rows: hostKeys().list, help: "where the plugin may send HTTP requests", read: readHosts},
		{name: "kv", kind: aBoolean, def: "false", help: "the job's durable values", read: func(g *grantDraft, v value) { g.KV, _ = v.boolean() }},
		{
			name: "clock", kind: aChoice, def: ClockReal, limits: ClockReal + " or " + ClockPlanned,
			help: "the time of day that the plugin sees; `planned`: it is the run's planned time when the run starts, and goes on from there",
			read: readClock,
		},
	}
}

func sizeGrant[N int | uint64](name string, at func(*grantDraft) *N, def string, r rule[int64], help string) field[grantDraft] {
	return field[grantDraft]{name: name, kind: aSize, def: def, limits: r.words, help: help, read: func(g *grantDraft, v value) {
		n, _ := v.sizeIn(r)
		*at(g) = N(n)
	}}
}

func upTo(most int64) rule[int64] {
	return rule[int64]{"1B to " + sizeText(most), func(n int64) bool { return n >= 1 && n <= most }}
}

func dirKeys() table[Dir] {
	return table[Dir]{
		{
			name: "host", kind: aPath, required: true, help: "directory on this machine; not one that holds jobhost's own files",
			read: func(d *Dir, v value) { d.Host, _ = v.filled() },
		},
		{
			name: "guest", kind: aPath, required: true, limits: "absolute and clean, such as /data", help: "where the guest sees it",
			read: func(d *Dir, v value) {
				switch s, ok := v.filled(); {
				case ok && (!path.IsAbs(s) || path.Clean(s) != s):
					v.wrong("%s is no clean absolute path", quote(s))
				case ok:
					d.Guest = s
				}
			},
		},
		{
			name: "mode", kind: aChoice, def: "ro", limits: "ro or rw", help: "`rw`: the guest may write",
			read: func(d *Dir, v value) {
				switch s, ok := v.text(); {
				case ok && s == "rw":
					d.Write = true
				case ok && s != "ro":
					v.wrong("%s is no mode", quote(s))
				}
			},
		},
		{
			name: "max_written", kind: aSize, def: "0", help: "how much one run may write there, where each new name counts 4 KiB; 0: as much as it likes",
			read: func(d *Dir, v value) { d.MaxWritten, _ = v.size() },
		},
	}
}

// grantDrafts reads the section grants, after what jobs are granted in place.
func (d *draft) grantDrafts() []grantDraft {
	drafts := d.own
	for _, list := range d.lists.grants {
		for _, v := range list.items() {
			g := grantDraft{Grant: Grant{Pos: v.pos}, at: v}
			g.given = entryKeys().read(&g, v)
			drafts = append(drafts, g)
		}
	}
	return drafts
}

// readGrants binds grants to the jobs of the files and to those that plugins bring.
func (d *draft) readGrants(r *reader, drafts []grantDraft, jobs map[jobhost.Name]jobDraft) {
	taken := map[[2]jobhost.Name]Position{}
	for _, g := range drafts {
		if g.Job == "" {
			continue
		}
		job, defined := jobs[g.Job]
		if by, ok := d.brought[g.Job]; ok {
			g.bindBrought(by, r.broken)
		} else {
			g.bind(job.Def, defined, keysOf(jobs), r.broken)
		}
		if v, ok := g.given["max_memory"]; ok && g.MaxMemory > d.Plugins.MaxTotalMemory {
			v.bad("%s is more than plugins.max_total_memory %s", v.show(), sizeText(d.Plugins.MaxTotalMemory))
		}
		key := [2]jobhost.Name{g.Job, g.Plugin}
		if first, twice := taken[key]; twice {
			g.at.bad("the job %s has grants already, at %v; want one entry", quote(g.Job), first)
			continue
		}
		taken[key] = g.Pos
		for i := range g.Dirs {
			g.Dirs[i].Host = inDir(d.dir, g.Dirs[i].Host)
		}
		for name, s := range g.Secrets {
			if s.File != "" {
				s.File = inDir(d.dir, s.File)
				g.Secrets[name] = s
			}
		}
		d.Grants = append(d.Grants, g.Grant)
	}
}

// readOwn reads jobs[].grants.
func readOwn(v value, def jobhost.JobDef) grantDraft {
	g := grantDraft{Grant: Grant{Pos: v.pos, Job: def.Name, Plugin: def.Plugin}, at: v}
	g.given = grantKeys().read(&g, v)
	return g
}

// bind gives the grant its plugin: that of the job in the files. A grant for another job must name it, or it would go to
// whatever plugin a job of that name calls one day; a warning says that there is no such job yet.
func (g *grantDraft) bind(job jobhost.JobDef, defined bool, names []string, broken bool) {
	plugin, named := g.given["plugin"]
	switch {
	case !defined && !named && g.Plugin == "" && !broken:
		g.at.bad("no file defines the job %s; correct the name, or name the plugin that the grant is for%s",
			quote(g.Job), didYouMean(g.Job, names))
	case !defined && !broken:
		g.at.warning("no file defines the job %s, so that the grant is for one that is defined at run time%s", quote(g.Job), didYouMean(g.Job, names))
	case defined && !named:
		g.Plugin = job.Plugin
	case defined && g.Plugin != "" && job.Plugin != "" && g.Plugin != job.Plugin:
		plugin.bad("%s is not the plugin of the job %s, that is %s", quote(g.Plugin), quote(g.Job), quote(job.Plugin))
	}
}

// bindBrought is for the job that a plugin brings. The grant must name the plugin, or it would go to any other one that brings a
// job of that name while this one is replaced.
func (g *grantDraft) bindBrought(plugin jobhost.Name, broken bool) {
	if _, named := g.given["plugin"]; !named && !broken {
		g.at.bad("the job %s comes with a plugin, so its grant has to name that, lest another plugin brings a job of this name; write plugin: %s",
			quote(g.Job), plugin)
	}
}

// readEnv reads variables. Those that tell the guest about its run are not for the taking.
func readEnv(g *grantDraft, v value) {
	ps, _ := v.pairs()
	for _, p := range ps {
		p.value.want = "text"
		if s, ok := p.value.text(); ok && p.checkVariable() && g.free(p) {
			if g.Env == nil {
				g.Env = map[string]string{}
			}
			g.Env[p.name] = s
		}
	}
}

// free reports whether a variable is given in one place only.
func (g *grantDraft) free(p pair) bool {
	_, env := g.Env[p.name]
	s, secret := g.Secrets[p.name]
	switch {
	case env:
		p.at().bad("is in env already; want it in one of both")
	case secret:
		p.at().bad("is in secrets already, at %v; want it in one of both", s.Pos)
	}
	return !env && !secret
}

// checkVariable reports whether the guest may get a variable of this name.
func (p pair) checkVariable() bool {
	switch {
	case p.name == "" || strings.ContainsAny(p.name, "=\x00"):
		p.at().bad("%s is no name of an environment variable", quote(p.name))
	case strings.HasPrefix(p.name, abi.EnvPrefix), p.name == abi.EnvTraceparent:
		p.at().bad("%s tells the guest about its run and cannot be replaced; want another name", p.name)
	default:
		return true
	}
	return false
}

func secretKeys() table[Secret] {
	return table[Secret]{
		{name: "env", kind: aText, limits: "the name of a variable of the host", read: func(s *Secret, v value) { s.Env, _ = v.filled() }},
		{name: "file", kind: aPath, read: func(s *Secret, v value) { s.File, _ = v.filled() }},
	}
}

// readSecrets reads where secrets are. Whether they are there is seen when a run starts.
func readSecrets(g *grantDraft, v value) {
	ps, _ := v.pairs()
	for _, p := range ps {
		if p.value.node.Kind != yaml.MappingNode { // it may be the secret, which no message shows
			p.value.bad("does not say where the secret is; want {env: NAME} or {file: path}")
			continue
		}
		s := Secret{Pos: p.keyed}
		if given := secretKeys().read(&s, p.value); len(given) != 1 {
			p.value.bad("has %d places; want one, {env: NAME} or {file: path}", len(given))
		}
		if p.checkVariable() && g.free(p) {
			if g.Secrets == nil {
				g.Secrets = map[string]Secret{}
			}
			g.Secrets[p.name] = s
		}
	}
}

func hostKeys() table[HTTPHost] {
	return table[HTTPHost]{
		{
			name: "host", kind: aText, required: true,
			limits: "such as `api.example.com`, `*.example.com`, `http://10.0.0.5:8080` or `*`; https on port 443 unless it says otherwise",
			help:   "checked for each request and redirect; `*.` stands for any name below, not for the name itself",
			read: func(h *HTTPHost, v value) {
				s, ok := v.filled()
				if !ok {
					return
				}
				if _, err := abi.ParseHostPattern(s); err != nil {
					v.bad("%v", err)
					return
				}
				h.Host = s
			},
		},
		{
			name: "private", kind: aBoolean, def: "false",
			help: "also addresses of this machine, of private networks and others that are not of the public internet; checked when the host is connected to",
			read: func(h *HTTPHost, v value) { h.Private, _ = v.boolean() },
		},
	}
}

func readHosts(g *grantDraft, v value) {
	for _, item := range v.items() {
		h := HTTPHost{Pos: item.pos}
		hostKeys().read(&h, item)
		if i := slices.IndexFunc(g.HTTP, func(o HTTPHost) bool { return o.Host == h.Host && h.Host != "" }); i >= 0 {
			item.bad("the host %s is listed already, at %v", quote(h.Host), g.HTTP[i].Pos)
		}
		g.HTTP = append(g.HTTP, h)
	}
}

func readClock(g *grantDraft, v value) {
	switch s, ok := v.text(); {
	case !ok:
	case s == ClockReal || s == ClockPlanned:
		g.Clock = s
	default:
		v.wrong("%s is no clock", quote(s))
	}
}

func readDirs(g *grantDraft, v value) {
	for _, item := range v.items() {
		d := Dir{Pos: item.pos}
		if v, given := dirKeys().read(&d, item)["max_written"]; given && !d.Write {
			v.warning("has no effect with the mode ro")
		}
		if i := slices.IndexFunc(g.Dirs, func(o Dir) bool { return o.Guest == d.Guest && d.Guest != "" }); i >= 0 {
			item.bad("the guest path %s is taken already, at %v", d.Guest, g.Dirs[i].Pos)
		}
		g.Dirs = append(g.Dirs, d)
	}
}
