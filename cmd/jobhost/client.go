package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
	"github.com/jobhost/jobhost/config"
)

// serverVariable names the server in the environment.
const serverVariable = "JOBHOST_SERVER"

// client is how a command finds its server.
type client struct {
	cli            *cli
	server, socket *string
	config         *[]string
}

// client adds the flags that say which server to ask.
func (c *cli) client(cmd *cobra.Command) *client {
	return &client{
		cli:    c,
		server: cmd.Flags().String("server", "", "server to ask: the path of a socket, or http://host:port (default $"+serverVariable+")"),
		socket: cmd.Flags().String("socket", "", "path of the server's socket (default http.socket of the configuration)"),
		config: configFlag(cmd),
	}
}

// chosen is the server that was named: the first of --server, --socket and the variable, or empty.
func (f *client) chosen() string {
	if *f.server != "" {
		return *f.server
	}
	if *f.socket != "" {
		return *f.socket
	}
	return f.cli.variable(serverVariable)
}

// address is the server that was named, or the socket of the configuration. What is wrong with a configuration keeps nobody
// from asking a host that runs.
func (f *client) address() (string, error) {
	if f.cli.elsewhere = f.chosen(); f.cli.elsewhere != "" {
		return f.cli.elsewhere, nil
	}
	files, err := readConfig(*f.config)
	if err != nil {
		if len(*f.config) > 0 {
			return "", err
		}
		f.cli.say("warning: %s", visible(message(err)))
	}
	for _, p := range config.Misnamed(f.cli.environ) {
		f.cli.say("warning: %s", visible(p.Error()))
	}
	socket, err := config.Socket(config.Sources{Files: files, Environ: f.cli.environ})
	if err != nil {
		for _, line := range lines(err) {
			f.cli.say("warning: %s", visible(line))
		}
		f.cli.say("warning: with that the host is looked for at %s; --socket or --server can say where it is", socket)
	}
	return socket, nil
}

// ask calls do with a client and the context of its calls, which an interrupt ends. It waits for a host that is starting.
func (f *client) ask(do func(ctx context.Context, s *api.Client) error) error {
	ctx, s, done, err := f.dial()
	if err != nil {
		return err
	}
	defer done()
	return f.cli.onceStarted(ctx, func() error { return do(ctx, s) })
}

// onceStarted calls do, and again while what it asks is answered with that the host is starting: what it asks for has not happened
// then. After [patience] that is the error.
func (c *cli) onceStarted(ctx context.Context, do func() error) error {
	const pause = 200 * time.Millisecond
	for began, said := time.Now(), false; ; said = true {
		err := do()
		if !isStarting(err) || time.Since(began) > patience {
			return err
		}
		if !said {
			c.say("the host is starting; waiting up to %s for it", durationText(patience))
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// dial returns a client and the context of its calls, which an interrupt ends. The caller calls done at the end.
func (f *client) dial() (ctx context.Context, s *api.Client, done func(), err error) {
	addr, err := f.address()
	if err != nil {
		return nil, nil, nil, err
	}
	s, err = api.Dial(addr)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	return ctx, s, func() {
		stop()
		_ = s.Close() // it never fails
	}, nil
}
