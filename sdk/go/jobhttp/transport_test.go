package jobhttp_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/jobhosttest"
	"github.com/jobhost/jobhost/sdk/go/jobhttp"
)

var client = http.Client{Transport: jobhttp.Transport{}}

// within runs f as a job whose requests reach the handler.
func within(t *testing.T, handler http.HandlerFunc, f func(ctx context.Context, url string) error) jobhosttest.Result {
	t.Helper()
	server := httptest.NewServer(handler)
	defer server.Close()
	host := jobhosttest.Host{HTTP: server.Client().Transport}
	return host.Run(t.Context(), func(ctx context.Context, _ *jobhost.Run) error { return f(ctx, server.URL) })
}

func get(ctx context.Context, url string) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	return client.Do(req)
}

func TestARequestAndItsResponseArriveWhole(t *testing.T) {
	handler := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Add("X-Many", "one")
		w.Header().Add("X-Many", "two")
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "%s %s %q %v %v", r.Method, r.URL, body, r.Header["X-Asked"], err)
	}
	got := within(t, handler, func(ctx context.Context, url string) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPut, url+"/a?b=c", strings.NewReader("hello"))
		if err != nil {
			return err
		}
		req.Header.Add("X-Asked", "1")
		req.Header.Add("X-Asked", "2")
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusTeapot || resp.Status != "418 I'm a teapot" {
			t.Errorf("status %d, %q", resp.StatusCode, resp.Status)
		}
		if many := fmt.Sprint(resp.Header["X-Many"]); many != "[one two]" {
			t.Errorf("header X-Many is %s", many)
		}
		body, err := io.ReadAll(iotest.OneByteReader(resp.Body))
		want := `PUT /a?b=c "hello" [1 2] <nil>`
		if string(body) != want || err != nil || resp.ContentLength != int64(len(want)) {
			t.Errorf("body %q of %d bytes, %v; want %q", body, resp.ContentLength, err, want)
		}
		return nil
	})
	if got.Err != nil || got.LeftOpen != 0 {
		t.Errorf("error %v, %d responses left open", got.Err, got.LeftOpen)
	}
}

func TestWhatIsRefusedSaysWhy(t *testing.T) {
	nothing := func(http.ResponseWriter, *http.Request) {}
	for name, c := range map[string]struct {
		got  error
		want error
	}{
		"no grant": {func() error {
			var host jobhosttest.Host
			return host.Run(t.Context(), func(ctx context.Context, _ *jobhost.Run) error {
				_, err := get(ctx, "https://example.com/")
				return err
			}).Err
		}(), jobhost.ErrDenied},
		"nobody listens": {within(t, nothing, func(ctx context.Context, _ string) error {
			_, err := get(ctx, "http://127.0.0.1:1/")
			return err
		}).Err, jobhost.ErrFailed},
		"a body that is too large": {within(t, nothing, func(ctx context.Context, url string) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(strings.Repeat("x", jobhttp.MaxBody+1)))
			if err != nil {
				return err
			}
			_, err = client.Do(req)
			return err
		}).Err, jobhost.ErrTooLarge},
		"too many open": {within(t, nothing, func(ctx context.Context, url string) error {
			for {
				if _, err := get(ctx, url); err != nil {
					return err
				}
			}
		}).Err, jobhost.ErrLimit},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v; want %v", name, c.got, c.want)
		}
	}
}

func TestAResponseThatNobodyClosesIsCounted(t *testing.T) {
	got := within(t, func(http.ResponseWriter, *http.Request) {}, func(ctx context.Context, url string) error {
		_, err := get(ctx, url)
		return err
	})
	if got.Err != nil || got.LeftOpen != 1 {
		t.Errorf("error %v, %d responses left open; want 1", got.Err, got.LeftOpen)
	}
}

func TestABodyEndsWithItsContext(t *testing.T) {
	got := within(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "hello") }, func(ctx context.Context, url string) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		resp, err := get(ctx, url)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		cancel(errors.New("enough"))
		_, err = io.ReadAll(resp.Body)
		return err
	})
	if got.Err == nil || got.Err.Error() != "enough" {
		t.Errorf("error %v; want the cause of the context's end", got.Err)
	}
}

func TestARequestOfNoRunIsRefused(t *testing.T) {
	if _, err := get(t.Context(), "https://example.com/"); err == nil || !strings.Contains(err.Error(), "context") {
		t.Errorf("error %v; want one about the context", err)
	}
}

func ExampleTransport() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprint(w, "42") }))
	defer server.Close()
	handle := func(ctx context.Context, run *jobhost.Run) error {
		client := http.Client{Transport: jobhttp.Transport{}}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			return err
		}
		return run.Output(string(body))
	}
	host := jobhosttest.Host{HTTP: server.Client().Transport}
	got := host.Run(context.Background(), handle)
	fmt.Println(string(got.Output))
	// Output: "42"
}
