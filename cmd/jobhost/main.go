// Command jobhost runs scheduled background jobs that are compiled to WebAssembly, and steers a host that does.
//
//	jobhost serve [-c jobhost.yaml]...      the host
//	jobhost exec <file.wasm>                a plugin once, without a host
//	jobhost job | run | node | plugin ...   what a running host has, through its socket
//	jobhost events                          what happens there
//	jobhost db                              its store, also while no host runs
//	jobhost init | validate | config        its configuration
//	jobhost doctor                          what is wrong with it
//
// Standard output is data, standard error is talk. The exit code is 0 when all went well, 1 when something or a run
// failed, 2 for a wrong use or configuration, 3 for something that is not there, 4 for a conflict, 5 when no host
// answers, 124 when the waiting took too long, and 130 when an interrupt ended it.
package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// version is set by the linker.
var version = "dev"

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())) }

// run is the whole program. It returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer, environ []string) int {
	c := &cli{in: stdin, out: stdout, err: stderr, environ: environ}
	root := c.root()
	root.SetArgs(args)
	root.PersistentPreRun = func(*cobra.Command, []string) { c.sayZone() }
	return c.report(root.Execute())
}

// cli is what the commands share: where they read and write.
type cli struct {
	in       io.Reader
	out, err io.Writer
	environ  []string

	elsewhere string // the server that somebody said is to be asked
}

func (c *cli) root() *cobra.Command {
	cmd := c.group("jobhost", "Run scheduled jobs that are compiled to WebAssembly", "",
		c.serve(), c.init(), c.validate(), c.config(), c.doctor(), c.exec(), c.newProject(), c.next(), c.plugin(), c.job(), c.run(), c.node(), c.events(), c.db(), c.version())
	cmd.Long = `jobhost runs scheduled jobs that are compiled to WebAssembly.

The host is "jobhost serve". All other commands either need no host, or ask a running one through the socket in its
data folder, ./.jobhost by default.`
	cmd.Example = `  jobhost exec plugins/hello.wasm --data '{"name": "you"}'
  jobhost serve -c jobhost.yaml
  jobhost job trigger hello
  jobhost run logs -f $(jobhost job enqueue hello)`
	cmd.Version = version
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetIn(c.in)
	cmd.SetOut(c.out)
	cmd.SetErr(c.err)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%s: %s; see %s --help", cmd.CommandPath(), mistake(err), cmd.CommandPath())
	})
	document(cmd)
	fit(cmd, c.width())
	return cmd
}

// variable is the value of an environment variable; empty: it is not set, or empty.
func (c *cli) variable(name string) string {
	value, _ := c.lookup(name)
	return value
}

// lookup is the same, and says whether it is set.
func (c *cli) lookup(name string) (value string, set bool) {
	for _, e := range slices.Backward(c.environ) { // the last one holds
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v, true
		}
	}
	return "", false
}
