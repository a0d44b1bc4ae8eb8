package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
)

// notReadyAt asks the host at a socket why it fires no triggers, and for the mend. Empty: it does, or does not say.
func notReadyAt(socket string) (what, mend string) {
	ctx, cancel := context.WithTimeout(context.Background(), patient)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://jobhost/readyz", http.NoBody)
	if err != nil {
		return "", ""
	}
	t := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer t.CloseIdleConnections()
	resp, err := t.RoundTrip(req)
	if err != nil {
		return "", ""
	}
	defer resp.Body.Close() //nolint:errcheck // what matters of it is read
	var problem struct {
		Detail string `json:"detail"`
		Hint   string `json:"hint"`
	}
	const most = 64 << 10 // bytes of a problem
	if resp.StatusCode == http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, most)).Decode(&problem) != nil {
		return "", ""
	}
	return problem.Detail, problem.Hint
}
