//go:build wasip1

// All uses everything that a host offers. Its twins in other languages do the same.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	jobhost "github.com/jobhost/jobhost/sdk/go"
	"github.com/jobhost/jobhost/sdk/go/jobhttp"
)

func main() { jobhost.Main(all) }

func all(ctx context.Context, run *jobhost.Run) error {
	var d struct{ URL string }
	if err := json.Unmarshal(run.Raw, &d); err != nil {
		return err
	}
	run.Log.Info("begun")
	run.Progress(1, 2, "half")
	span := jobhost.Start(ctx, "outer")
	span.Set("language", "any")
	jobhost.Event(ctx, "now")
	for _, key := range []string{"b", "a", "c"} {
		if err := run.KV.Set(key, []byte(key+"!")); err != nil {
			return err
		}
	}
	if err := run.KV.Delete("c"); err != nil {
		return err
	}
	value, err := run.KV.Get("a")
	if err != nil {
		return err
	}
	keys, err := run.KV.Keys("")
	if err != nil {
		return err
	}
	if err := jobhost.Sleep(ctx, time.Millisecond); err != nil {
		return err
	}
	client := http.Client{Transport: jobhttp.Transport{}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("X-Asked", "yes")
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if err := resp.Body.Close(); err != nil {
		return err
	}
	span.End(nil)
	_, limited := ctx.Deadline()
	if err := run.Output(map[string]any{
		"value": string(value), "keys": keys, "status": resp.StatusCode, "type": resp.Header.Get("Content-Type"), "body": string(body),
		"limited": limited, "job": run.Job,
	}); err != nil {
		return err
	}
	return jobhost.Permanent(jobhost.Fail("DONE", fmt.Sprint("all was called at attempt ", run.Attempt)))
}
