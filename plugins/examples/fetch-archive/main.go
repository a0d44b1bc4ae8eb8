// Command fetch-archive downloads a file, goes on where an earlier attempt stopped, and checks what it got by its SHA-256.
//
// It is written with the SDK for Go: HTTP goes through the host, and how far it came is a durable value of the job. Its data
// say what to fetch and where to put it:
//
//	{"url": "https://example.com/dump.tar.gz", "sha256": "e3b0c442…", "to": "/out/dump.tar.gz"}
//
// main.go is about the data, fetch.go downloads, and checkpoint.go remembers.
package main

import (
	"context"
	"encoding/hex"
	"net/url"
	"path"
	"strings"

	jobhost "github.com/jobhost/jobhost/sdk/go"
)

func main() { jobhost.Main(handle) }

// Options are the job's data.
type Options struct {
	URL      string `json:"url"`
	SHA256   string `json:"sha256"`    // of the whole file, in hexadecimal
	To       string `json:"to"`        // the file; it appears when it is whole
	MaxBytes int64  `json:"max_bytes"` // more are refused; 1 GiB if it is not given
}

// The codes that a run fails with.
const (
	codeStatus   = "FETCH_STATUS" // the server answered with a status that is no success
	codeTooLarge = "FETCH_TOO_LARGE"
	codeMismatch = "FETCH_MISMATCH" // what came is not what was wanted
)

func readOptions(run *jobhost.Run) (Options, error) {
	o := Options{MaxBytes: 1 << 30}
	if err := run.Data(&o); err != nil {
		return o, err
	}
	var wrong []string
	if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		wrong = append(wrong, "url is no address of a file; want such as https://example.com/dump.tar.gz")
	}
	o.SHA256 = strings.ToLower(o.SHA256)
	if sum, err := hex.DecodeString(o.SHA256); err != nil || len(sum) != 32 {
		wrong = append(wrong, "sha256 is no digest; want 64 hexadecimal digits")
	}
	if o.To == "" || path.Base(o.To) == "." || strings.HasSuffix(o.To, "/") {
		wrong = append(wrong, "to is no path of a file; want such as /out/dump.tar.gz")
	}
	if o.MaxBytes < 1 {
		wrong = append(wrong, "max_bytes is less than 1")
	}
	if len(wrong) > 0 {
		return o, jobhost.Permanent(jobhost.Fail(jobhost.BadData, strings.Join(wrong, "; ")))
	}
	return o, nil
}

// result is what a run returns.
type result struct {
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Resumed int64  `json:"resumed"` // bytes that earlier attempts had fetched
	Fetched bool   `json:"fetched"` // false: the file was there already
}

func handle(ctx context.Context, run *jobhost.Run) error {
	o, err := readOptions(run)
	if err != nil {
		return err
	}
	d := download{Options: o, run: run}
	r, err := d.do(ctx)
	if err != nil {
		return err
	}
	return run.Output(r)
}
