package api_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// The bodies that are read at one time are bounded. One that is read gives way, also while its request waits for a run.
func TestOnlySoManyLargeBodiesAreReadAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := steady()
		finish := make(chan struct{})
		answer := s.trigger
		s.trigger = func(ctx context.Context, in []jobhost.TriggerRequest) []jobhost.Result[jobhost.Run] {
			<-finish
			return answer(ctx, in)
		}
		h := handler(s)
		status := make(chan int, 9)
		begin := func(size int64) *io.PipeWriter {
			body, w := io.Pipe()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/jobs:trigger", body)
			r.ContentLength = size
			r.Header.Set("Content-Type", "application/json")
			go func() {
				got := httptest.NewRecorder()
				h.ServeHTTP(got, r)
				if got.Code == http.StatusServiceUnavailable && got.Header().Get("Retry-After") == "" {
					got.Code = 0
				}
				status <- got.Code
			}()
			synctest.Wait()
			return w
		}
		first := begin(-1) // of any size, and so of the largest
		rest := []*io.PipeWriter{begin(api.MaxBatch), begin(api.MaxBatch), begin(1 << 40)}
		begin(1 << 20)
		if got := <-status; got != http.StatusServiceUnavailable {
			t.Errorf("one too many: got %d, want 503 with a Retry-After", got)
		}
		small := begin(100)
		if _, err := first.Write([]byte(`[{"job":"a"}]`)); err != nil {
			t.Fatal(err)
		}
		first.Close()
		synctest.Wait() // it waits for its run now
		rest = append(rest, begin(api.MaxBatch), small)
		if len(status) > 0 {
			t.Errorf("got %d for a body that there is room for", <-status)
		}
		for _, w := range rest {
			w.CloseWithError(errors.New("the client is gone"))
		}
		close(finish)
		synctest.Wait()
		if got := len(status); got != 6 {
			t.Errorf("%d of 6 requests have ended", got)
		}
		begin(api.MaxBatch).CloseWithError(io.EOF) // all have given back what they claimed
		synctest.Wait()
	})
}

func TestABodyThatNobodyReadsIsCutOff(t *testing.T) {
	bubble(t, steady(), func(t *testing.T, p *pipes, _ func() error) {
		t.Helper()
		begin := time.Now()
		c := connect(t, p)
		send(t, c, "GET /v1/jobs/a HTTP/1.1\r\nHost: jobhost\r\nContent-Length: 1000\r\n\r\n{")
		if _, err := io.Copy(io.Discard, c); err != nil { // net/http waits for the body before it answers
			t.Errorf("got %v, want the end of the connection", err)
		}
		if got := time.Since(begin); got > api.Defaults().BodyTimeout {
			t.Errorf("the connection stood for %v, want at most %v", got, api.Defaults().BodyTimeout)
		}
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPipes()
		l := api.LimitConns(p, 2)
		accepted := make(chan net.Conn, 9)
		ended := make(chan error, 1)
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					ended <- err
					return
				}
				accepted <- c
			}
		}()
		for range 3 {
			go func() {
				if c, err := p.dial(t.Context()); err == nil {
					_, _ = io.Copy(io.Discard, c) // until the other end closes
				}
			}()
		}
		synctest.Wait()
		if len(accepted) != 2 {
			t.Fatalf("%d connections are accepted, want 2", len(accepted))
		}
		first := <-accepted
		first.Close()
		first.Close() // gives back no other's place
		synctest.Wait()
		if len(accepted) != 2 {
			t.Errorf("%d connections are accepted in the place of one, want 1", len(accepted)-1)
		}
		l.Close()
		l.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("a closed listener says %v", err)
		}
		for range 2 {
			(<-accepted).Close()
		}
	})
}

// Odd heads and paths are answered, and lead nowhere.
func TestOddRequestsAreAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"two lengths":           {"POST /v1/jobs/a/trigger HTTP/1.1\r\nHost: j\r\nContent-Length: 2\r\nContent-Length: 30\r\n\r\n{}", 400},
		"a length of two kinds": {"POST /v1/jobs/a/trigger HTTP/1.1\r\nHost: j\r\nContent-Length: +2\r\n\r\n{}", 400},
		"another coding":        {"POST /v1/jobs/a/trigger HTTP/1.1\r\nHost: j\r\nTransfer-Encoding: xchunked\r\n\r\n{}", 501},
		"two codings":           {"POST /v1/jobs/a/trigger HTTP/1.1\r\nHost: j\r\nTransfer-Encoding: chunked, chunked\r\n\r\n{}", 501},
		"a folded field":        {"GET /healthz HTTP/1.1\r\nHost: j\r\nA : b\r\n\r\n", 400},
		"no host":               {"GET /healthz HTTP/1.1\r\n\r\n", 400},
		"a large head":          {"GET /healthz HTTP/1.1\r\nHost: j\r\nA: " + strings.Repeat("x", 80<<10) + "\r\n\r\n", 431},
		"an escaped slash":      {"GET /v1/runs/%2e%2e%2fjobs HTTP/1.1\r\nHost: j\r\n\r\n", 404},
		"dots":                  {"GET /v1/runs/../../healthz HTTP/1.1\r\nHost: j\r\n\r\n", 307},
		"a zero byte":           {"GET /v1/runs/a%00b HTTP/1.1\r\nHost: j\r\n\r\n", 404},
	} {
		bubble(t, steady(), func(t *testing.T, p *pipes, _ func() error) {
			t.Helper()
			conn := connect(t, p)
			go func() { _, _ = io.WriteString(conn, c.request) }() // the server may not take all of it
			resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != c.status {
				t.Errorf("%s: got %s, want %d", name, resp.Status, c.status)
			}
		})
	}
}
