package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jobhost/jobhost/api"
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
	for _, e := range f.cli.environ {
		if v, ok := strings.CutPrefix(e, serverVariable+"="); ok && v != "" {
			return v
		}
	}
	return ""
}

// address is the server that was named, or the socket of the configuration.
func (f *client) address() (string, error) {
	if s := f.chosen(); s != "" {
		return s, nil
	}
	s, _, err := f.cli.settings(*f.config)
	if err != nil {
		return "", err
	}
	return s.HTTP.Socket, nil
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
