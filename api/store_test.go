package api_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/api"
)

// shelf is a store of which a test says what it holds.
type shelf struct {
	stats func() (api.StoreStats, error)
	copy  func(context.Context, io.Writer) error // both copies
}

func (s shelf) StoreStats(context.Context) (api.StoreStats, error) { return s.stats() }

func (s shelf) BackupStore(ctx context.Context, w io.Writer) error { return s.copy(ctx, w) }

func (s shelf) ExportStore(ctx context.Context, w io.Writer) error { return s.copy(ctx, w) }

func withStore(s api.StoreKeeper, log io.Writer) http.Handler {
	cfg := api.Defaults()
	cfg.Store, cfg.Log = s, slog.New(slog.NewTextHandler(log, nil))
	return api.NewHandler(steady(), cfg)
}

func copies(c *api.Client) map[string]func(context.Context, io.Writer) error {
	return map[string]func(context.Context, io.Writer) error{"backup": c.BackupStore, "export": c.ExportStore}
}

func TestTheStoreIsDescribed(t *testing.T) {
	want := api.StoreStats{
		Path: "/var/lib/jobhost.db", Format: 1, Size: 1 << 40, MaxSize: 1 << 41, PageSize: 4096, Pages: 1 << 28, FreePages: 7, FreeShare: 0.25,
		Jobs: 1, Triggers: 2, OpenRuns: 3, EndedRuns: 4, LogChunks: 5, Outputs: 6, Nodes: 7, CancelRequests: 8, IdempotencyKeys: 9, Values: 10,
		OldestRun: t0, NewestRun: t0.Add(time.Hour),
	}
	h := withStore(shelf{stats: func() (api.StoreStats, error) { return want, nil }}, io.Discard)
	got, err := api.NewClient("http://jobhost", serve(t, h)).StoreStats(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	same(t, "stats", got, want)
	bad := &jobhost.Error{Code: jobhost.StoreUnreachable, Op: "boltstore.stats", Msg: "it is away", Hint: "wait"}
	h = withStore(shelf{stats: func() (api.StoreStats, error) { return api.StoreStats{}, bad }}, io.Discard)
	_, err = api.NewClient("http://jobhost", serve(t, h)).StoreStats(t.Context())
	same(t, "error", err, error(bad))
}

func TestTheStoreIsCopied(t *testing.T) {
	data := bytes.Repeat([]byte{0, 0xff, '\n', 'x'}, 100_000)
	h := withStore(shelf{copy: func(_ context.Context, w io.Writer) error {
		_, err := io.Copy(w, bytes.NewReader(data))
		return err
	}}, io.Discard)
	for what, do := range copies(api.NewClient("http://jobhost", serve(t, h))) {
		var got bytes.Buffer
		if err := do(t.Context(), &got); err != nil || !bytes.Equal(got.Bytes(), data) {
			t.Errorf("%s: %d bytes, %v; want %d", what, got.Len(), err, len(data))
		}
	}
	for what, want := range map[string][2]string{
		"backup": {"application/octet-stream", `attachment; filename="jobhost.db"`},
		"export": {"application/x-ndjson", `attachment; filename="jobhost.jsonl"`},
	} {
		resp, _ := call(t, h, "GET", "/v1/store/"+what, "")
		if got := [2]string{resp.Header.Get("Content-Type"), resp.Header.Get("Content-Disposition")}; got != want || resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %q; want %q", what, resp.StatusCode, got, want)
		}
	}
	empty := withStore(shelf{copy: func(context.Context, io.Writer) error { return nil }}, io.Discard)
	for _, what := range []string{"backup", "export"} {
		if resp, body := call(t, empty, "GET", "/v1/store/"+what, ""); resp.StatusCode != http.StatusOK || body != "" || resp.Header.Get("Content-Disposition") == "" {
			t.Errorf("%s of nothing: %d %q", what, resp.StatusCode, body)
		}
	}
}

func TestACopyThatFailsIsAProblemOrBreaksOff(t *testing.T) {
	full := &jobhost.Error{Code: jobhost.StoreFull, Op: "boltstore.read", Msg: "taken too slowly", Hint: "take it faster"}
	for _, after := range []int{0, 1, 1 << 20} {
		var log bytes.Buffer
		h := withStore(shelf{copy: func(_ context.Context, w io.Writer) error {
			if after > 0 {
				if _, err := w.Write(make([]byte, after)); err != nil {
					return err
				}
			}
			return full
		}}, &log)
		for what, do := range copies(api.NewClient("http://jobhost", serve(t, h))) {
			log.Reset()
			err := do(t.Context(), io.Discard)
			switch {
			case after == 0 && !strings.Contains(log.String(), "broken off"):
				same(t, what, err, error(full))
			case after == 0 || jobhost.CodeOf(err) != jobhost.NotServing || !strings.Contains(err.Error(), "broke off"):
				t.Errorf("%s after %d bytes: %v, logged %q", what, after, err, log.String())
			case !strings.Contains(log.String(), "taken too slowly"):
				t.Errorf("%s after %d bytes: the log does not say why: %q", what, after, log.String())
			}
		}
	}
}

func TestACopyEndsWithItsClient(t *testing.T) {
	ended := make(chan error, 1)
	var log bytes.Buffer
	h := withStore(shelf{copy: func(ctx context.Context, w io.Writer) error {
		var err error
		for err == nil {
			if _, err = w.Write(make([]byte, 1<<16)); ctx.Err() != nil {
				err = ctx.Err()
			}
		}
		ended <- err
		return err
	}}, &log)
	no := errors.New("the disk is full")
	for what, do := range copies(api.NewClient("http://jobhost", serve(t, h))) {
		if err := do(t.Context(), failing{no}); !errors.Is(err, no) || jobhost.CodeOf(err) != "" {
			t.Errorf("%s: %v; want the writer's error", what, err)
		}
		if err := <-ended; err == nil {
			t.Errorf("%s goes on", what)
		}
	}
	if log.Len() > 0 {
		t.Errorf("log: %s", log.String())
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestAStoreWithoutAFileSaysSo(t *testing.T) {
	h := handler(steady())
	for _, what := range []string{"stats", "backup", "export"} {
		resp, body := call(t, h, "GET", "/v1/store/"+what, "")
		if resp.StatusCode != http.StatusNotImplemented || resp.Header.Get("Content-Type") != "application/problem+json" || !strings.Contains(body, "only a store of kind bolt has one") {
			t.Errorf("%s: %d %s", what, resp.StatusCode, body)
		}
	}
	c := api.NewClient("http://jobhost", serve(t, h))
	_, err := c.StoreStats(t.Context())
	for _, err := range []error{err, c.BackupStore(t.Context(), io.Discard), c.ExportStore(t.Context(), io.Discard)} {
		if jobhost.CodeOf(err) != jobhost.InvalidDefinition || !strings.Contains(err.Error(), "has no file") {
			t.Errorf("the client: %v", err)
		}
	}
}

// A client that takes nothing is dropped, and its copy ends; a slow one that goes on taking is not.
func TestACopyWaitsForItsClientOnlySoLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		cfg := api.Defaults()
		cfg.Now, cfg.Store = time.Now, shelf{copy: func(_ context.Context, w io.Writer) error {
			var err error
			for err == nil {
				_, err = w.Write(make([]byte, 1<<16))
			}
			ended <- err
			return err
		}}
		p := newPipes()
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- api.NewServerOn(p, api.NewHandler(steady(), cfg), cfg).Serve(ctx) }()
		c := connect(t, p)
		send(t, c, "GET /v1/store/backup HTTP/1.1\r\nHost: jobhost\r\n\r\n")
		for range 100 {
			if _, err := io.ReadFull(c, make([]byte, 1<<16)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(cfg.WriteTimeout / 4)
		}
		stopped := time.Now()
		if err := <-ended; err == nil {
			t.Error("it goes on")
		}
		if took := time.Since(stopped); took > cfg.WriteTimeout {
			t.Errorf("it ended %v after the client took the last of it; want %v at most", took, cfg.WriteTimeout)
		}
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
