package jobhost_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/jobhosttest"
)

func TestSendGivesStatusHeadersAndBody(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("X-Asked", strings.Join(r.Header["X-Ask"], ","))
		_, _ = fmt.Fprintf(w, "%s %q %v", r.Method, body, err)
	}))
	defer server.Close()
	host := jobhosttest.Host{HTTP: server.Client().Transport}
	got := host.Run(t.Context(), func(ctx context.Context, _ *jobhost.Run) error {
		for method, want := range map[string]string{"": `GET "hello" <nil>`, http.MethodPost: `POST "hello" <nil>`} {
			resp, err := jobhost.Send(ctx, jobhost.Request{
				Method: method, URL: server.URL, Header: map[string][]string{"X-Ask": {"1", "2"}}, Body: []byte("hello"),
			})
			if err != nil {
				return err
			}
			if resp.Status != http.StatusOK || resp.Get("X-Asked") != "1,2" || resp.Get("x-other") != "" {
				t.Errorf("status %d, headers %v", resp.Status, resp.Header)
			}
			body, err := io.ReadAll(resp.Body)
			if string(body) != want || err != nil {
				t.Errorf("body %q, %v; want %q", body, err, want)
			}
			if err := resp.Body.Close(); err != nil {
				return err
			}
			if _, err := resp.Body.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("a closed body was read: %v", err)
			}
		}
		return nil
	})
	if got.Err != nil || got.LeftOpen != 0 {
		t.Errorf("error %v, %d responses left open", got.Err, got.LeftOpen)
	}
}

func TestSendSaysWhyItDidNot(t *testing.T) {
	send := func(ctx context.Context, url string) error {
		_, err := jobhost.Send(ctx, jobhost.Request{URL: url})
		return err
	}
	within := func(ctx context.Context, host jobhosttest.Host, url string) error {
		return host.Run(ctx, func(ctx context.Context, _ *jobhost.Run) error { return send(ctx, url) }).Err
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	open := jobhosttest.Host{HTTP: http.DefaultTransport}
	for name, c := range map[string]struct{ got, want error }{
		"no grant":       {within(t.Context(), jobhosttest.Host{}, "https://example.com/"), jobhost.ErrDenied},
		"no URL":         {within(t.Context(), open, ":"), jobhost.ErrBadArgument},
		"nobody listens": {within(t.Context(), open, "http://127.0.0.1:1/"), jobhost.ErrFailed},
		"stopped":        {within(stopped, open, "http://127.0.0.1:1/"), jobhost.ErrStopped},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v; want %v", name, c.got, c.want)
		}
	}
	if err := send(t.Context(), "https://example.com/"); err == nil || !strings.Contains(err.Error(), "context") {
		t.Errorf("outside of a run: %v", err)
	}
}
