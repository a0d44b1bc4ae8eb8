package host

import (
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// Config is what a [Host] needs to know. Start from [Defaults]; zero means zero.
type Config struct {
	Dir     string   // the plugin folder; empty: none, plugins come by [Host.Load] alone
	Cache   string   // the folder for compiled code, private to this user; empty: nothing is kept
	Private []string // folders that no grant may touch, beside Dir, Cache and Modules

	Modules      string // the folder in which modules that have run are kept for [Host.Replay]; empty: none are
	KeepVersions int    // modules of each plugin that are kept, the one that runs among them; at least 1

	MaxMemory      uint64 // bytes of one run's memory
	MaxTotalMemory uint64 // bytes of the memory of all runs together
	MaxOutput      int    // bytes of one run's output, at most abi.MaxOutputEver
	MaxLog         int    // bytes of one run's log that are worth keeping; see [LogLimiter]
	MaxFuel        uint64 // instructions of one run, roughly; 0: no limit

	Grants    []Grant
	Listeners func() []netip.AddrPort // where the host itself listens, which no grant reaches; may be nil
	Roots     *x509.CertPool          // whom requests of guests trust; nil: the system's
	Resolver  *net.Resolver           // for the names in requests of guests; nil: the system's

	// Manifest reads a manifest; what it refuses, the plugin is refused for. Nil: manifests are ignored.
	Manifest func(jobhost.ManifestText) (jobhost.Manifest, error)

	Watch   bool         // watch Dir for changes
	Changed func()       // called after a plugin became ready, broken or absent; may be nil, must not block
	Log     *slog.Logger // nil: nothing is logged
}

// Defaults returns the configuration of ABI.md and DESIGN 6: 256 MiB for one run and 2 GiB for all, 64 KiB of output,
// 256 KiB of log, no fuel limit, no grant. Five versions of each plugin are kept if there is a folder for them.
func Defaults() Config {
	return Config{
		MaxMemory:      abi.MaxMemory,
		MaxTotalMemory: 2 << 30,
		MaxOutput:      abi.MaxOutput,
		MaxLog:         abi.MaxLog,
		KeepVersions:   5,
	}
}

// Grant is what a plugin may use when it runs for a job. Without one it gets its input, its clock and nothing else.
// Where a limit is zero, that of [Config] holds; otherwise it replaces it, up or down.
type Grant struct {
	Job, Plugin jobhost.Name
	Args        []string          // after the job's name
	Env         map[string]string // beside the host's own
	Dirs        []Dir
	Secrets     map[string]Secret // beside Env, and hidden in all that the run says
	HTTP        []HTTP            // where requests may go
	KV          bool              // durable values of the job
	Clock       Clock
	MaxMemory   uint64
	MaxOutput   int
	MaxLog      int
	MaxFuel     uint64
}

// Dir lets a guest use a folder of the host. Nothing outside it can be reached through it.
type Dir struct {
	Host  string // must exist when the run starts
	Guest string // an absolute path, as the guest sees it
	Mode  Mode

	// MaxWritten is how many bytes one run may write here; 0: as many as it likes. What a file is made longer by without being
	// written counts as if it were, and each new name counts as 4 KiB. Nothing is given back for what is removed.
	MaxWritten int64
}

// Mode says what a guest may do in a [Dir].
type Mode string

// The modes. An empty one is ReadOnly.
const (
	ReadOnly  Mode = "ro"
	ReadWrite Mode = "rw"
)

// HTTP lets a guest make requests to hosts.
type HTTP struct {
	Host string // a pattern as [abi.ParseHostPattern] reads it
	// Private allows addresses that are not of the public internet, too: of this machine, of private networks, and whatever
	// else has no public server.
	Private bool
}

// Clock says which time of day a guest sees. Its monotonic clock, its deadline and the times of files are always the host's.
type Clock string

// The clocks. An empty one is ClockReal.
const (
	ClockReal    Clock = "real"
	ClockPlanned Clock = "planned" // that of the run's planned time, from which it goes on
)

// minMemory is the least memory limit that makes sense: one page.
const minMemory = abi.PageSize

// check returns every problem of the configuration at once.
func (c Config) check() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if c.MaxMemory < minMemory || c.MaxMemory > 4<<30 {
		bad("max_memory is %d bytes; want %d to %d", c.MaxMemory, minMemory, uint64(4)<<30)
	}
	if c.MaxTotalMemory < c.MaxMemory {
		bad("max_total_memory is %d bytes, less than max_memory, which is %d", c.MaxTotalMemory, c.MaxMemory)
	}
	if c.MaxOutput < 0 || c.MaxOutput > abi.MaxOutputEver {
		bad("max_output is %d bytes; want 0 to %d", c.MaxOutput, abi.MaxOutputEver)
	}
	if c.MaxLog < 0 {
		bad("max_log is %d bytes; want 0 or more", c.MaxLog)
	}
	if c.Modules != "" && c.KeepVersions < 1 {
		bad("keep_versions is %d; want 1 or more", c.KeepVersions)
	}
	if c.Watch && c.Dir == "" {
		bad("there is no plugin folder to watch")
	}
	return errors.Join(append(errs, c.checkGrants(c.Grants))...)
}

// checkGrants returns every problem of a list of grants at once.
func (c Config) checkGrants(grants []Grant) error {
	var errs []error
	seen := map[grantKey]bool{}
	for i, g := range grants {
		for _, err := range c.checkGrant(g) {
			errs = append(errs, fmt.Errorf("grant %d, job %q, plugin %q: %w", i+1, g.Job, g.Plugin, err))
		}
		if k := g.key(); seen[k] {
			errs = append(errs, fmt.Errorf("grant %d: job %q and plugin %q have a grant already", i+1, g.Job, g.Plugin))
		} else {
			seen[k] = true
		}
	}
	return errors.Join(errs...)
}

func (c Config) checkGrant(g Grant) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	for _, name := range []string{g.Job, g.Plugin} {
		if _, err := jobhost.ParseName(name); err != nil {
			errs = append(errs, err)
		}
	}
	for i, a := range g.Args {
		if strings.ContainsRune(a, 0) {
			bad("args[%d] has a NUL character", i)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(g.Env)) {
		if err := checkVariable(k, "env"); err != nil {
			errs = append(errs, err)
		} else if strings.ContainsRune(g.Env[k], 0) {
			bad("env %s has a NUL character", k)
		}
	}
	errs = append(errs, g.checkSecrets()...)
	for _, p := range g.HTTP {
		if _, err := abi.ParseHostPattern(p.Host); err != nil {
			errs = append(errs, err)
		}
	}
	if g.Clock != "" && g.Clock != ClockReal && g.Clock != ClockPlanned {
		bad("clock is %q; want real or planned", g.Clock)
	}
	if g.MaxMemory != 0 && (g.MaxMemory < minMemory || g.MaxMemory > min(c.MaxTotalMemory, 4<<30)) {
		bad("max_memory is %d bytes; want %d to %d", g.MaxMemory, minMemory, min(c.MaxTotalMemory, 4<<30))
	}
	if g.MaxOutput < 0 || g.MaxOutput > abi.MaxOutputEver {
		bad("max_output is %d bytes; want 0 to %d", g.MaxOutput, abi.MaxOutputEver)
	}
	if g.MaxLog < 0 {
		bad("max_log is %d bytes; want 0 or more", g.MaxLog)
	}
	return append(errs, c.checkDirs(g.Dirs)...)
}

func checkVariable(name, in string) error {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return fmt.Errorf("%s has the name %q; want one without '=' and NUL", in, name)
	case strings.HasPrefix(name, abi.EnvPrefix) || name == abi.EnvTraceparent:
		return fmt.Errorf("%s sets %s, which is the host's own", in, name)
	}
	return nil
}

func (g Grant) checkSecrets() (errs []error) {
	for _, k := range slices.Sorted(maps.Keys(g.Secrets)) {
		if err := checkVariable(k, "secrets"); err != nil {
			errs = append(errs, err)
		}
		if _, twice := g.Env[k]; twice {
			errs = append(errs, fmt.Errorf("%s is both in env and in secrets; want one of them", k))
		}
		if err := g.Secrets[k].check(); err != nil {
			errs = append(errs, fmt.Errorf("secret %s: %w", k, err))
		}
	}
	return errs
}

func (c Config) checkDirs(dirs []Dir) (errs []error) {
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	guests := map[string]bool{}
	for _, d := range dirs {
		switch {
		case d.Host == "":
			bad("a directory has no host path")
		case !path.IsAbs(d.Guest) || path.Clean(d.Guest) != d.Guest:
			bad("directory %s: the guest path is %q; want a clean absolute one, such as /data", d.Host, d.Guest)
		case guests[d.Guest]:
			bad("directory %s: the guest path %s is taken", d.Host, d.Guest)
		case d.Mode != "" && d.Mode != ReadOnly && d.Mode != ReadWrite:
			bad("directory %s: mode is %q; want ro or rw", d.Host, d.Mode)
		case d.MaxWritten < 0:
			bad("directory %s: max_written is %d bytes; want 0 or more", d.Host, d.MaxWritten)
		}
		guests[d.Guest] = true
		if d.Host == "" {
			continue
		}
		if err := c.checkApart(d.Host); err != nil {
			bad("directory %s %w", d.Host, err)
		}
	}
	return errs
}

// checkApart reports an error if a folder overlaps one of the host's own.
func (c Config) checkApart(dir string) error {
	for _, p := range append([]string{c.Dir, c.Cache, c.Modules}, c.Private...) {
		if p != "" && overlap(dir, p) {
			return fmt.Errorf("overlaps %s, which guests must not reach", p)
		}
	}
	return nil
}

type grantKey struct{ job, plugin jobhost.Name }

func (g Grant) key() grantKey { return grantKey{g.Job, g.Plugin} }

// limits returns the grant with the limits of the configuration where it has none.
func (c Config) limits(g Grant) Grant {
	g.MaxMemory = orDefault(g.MaxMemory, c.MaxMemory)
	g.MaxOutput = orDefault(g.MaxOutput, c.MaxOutput)
	g.MaxLog = orDefault(g.MaxLog, c.MaxLog)
	g.MaxFuel = orDefault(g.MaxFuel, c.MaxFuel)
	return g
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}
