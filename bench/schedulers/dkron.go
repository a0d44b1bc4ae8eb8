//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/server"
	"github.com/jobhost/jobhost/bench/internal/usage"
)

// dkronPeer is a single Dkron node, driven over its REST interface. Its jobs call back over HTTP, so a start is one
// request on the loopback later than Dkron's own. Processor time and memory are those of the node.
type dkronPeer struct {
	node    *server.Server
	back    string // of the calls that the jobs make
	client  *http.Client
	listens *http.Server
	start   atomic.Pointer[func(i int)]
}

func openDkron(o order) (scheduler, error) {
	p := &dkronPeer{node: o.Server, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}}}
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p.back = "http://" + own.Addr().String() + "/"
	p.listens = &http.Server{Handler: http.HandlerFunc(p.called), ReadHeaderTimeout: patience}
	go func() { _ = p.listens.Serve(own) }() // ends with close
	return p, nil
}

func (p *dkronPeer) process() usage.Process { return usage.Process(p.node.PID) }

func (p *dkronPeer) called(_ http.ResponseWriter, r *http.Request) {
	i, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/"))
	if start := p.start.Load(); err == nil && start != nil {
		(*start)(i)
	}
}

func (p *dkronPeer) do(method, path string, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequest(method, p.node.Address+"/v1/"+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	a, err := p.client.Do(r)
	if err != nil {
		return err
	}
	said, err := io.ReadAll(a.Body)
	if err := errors.Join(err, a.Body.Close()); err != nil {
		return err
	}
	if a.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, a.Status, said)
	}
	return nil
}

// add registers job i on eight connections at a time.
func (p *dkronPeer) add(n int, name string, schedule func(i int) string) error {
	var next atomic.Int64
	var adding sync.WaitGroup
	errs := make([]error, 8)
	for w := range errs {
		adding.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && errs[w] == nil; i = int(next.Add(1)) - 1 {
				errs[w] = p.do(http.MethodPost, "jobs", map[string]any{
					"name": fmt.Sprintf("%s-%d", name, i), "schedule": schedule(i), "executor": "http",
					"executor_config": map[string]string{"method": http.MethodGet, "url": p.back + strconv.Itoa(i), "expectCode": "200"},
				})
			}
		})
	}
	adding.Wait()
	return errors.Join(errs...)
}

// begin has nothing to do: the node runs.
func (p *dkronPeer) begin() error { return nil }

// at has instants of whole seconds: Dkron knows nothing finer.
func (p *dkronPeer) at(instants []time.Time, start func(int)) error {
	for _, at := range instants {
		if !at.Equal(at.Truncate(time.Second)) {
			return child.Skip("knows whole seconds only")
		}
	}
	p.start.Store(&start)
	return p.add(len(instants), "once", func(i int) string { return "@at " + instants[i].Format(time.RFC3339) })
}

func (p *dkronPeer) recurring(n int) error {
	return p.add(n, "cron", func(i int) string { return "0 " + recurringSpec(i, time.Now()) })
}

func (p *dkronPeer) close() error { return p.listens.Close() }
