package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"strconv"
	"strings"

	jobhost "github.com/jobhost/jobhost/sdk/go"
)

// step is how many bytes are fetched between two checkpoints.
const step = 1 << 20

// download is one attempt to fetch a file.
type download struct {
	Options

	run *jobhost.Run
}

// do fetches the file, unless it is there already.
func (d *download) do(ctx context.Context) (result, error) {
	switch size, err := d.verify(); {
	case err == nil:
		return result{File: d.To, Bytes: size}, d.run.KV.Delete(key(d.SHA256))
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errOther):
		return result{}, err
	}
	at, h, err := load(d.run.KV, d.Options)
	if err != nil {
		return result{}, err
	}
	part, err := os.OpenFile(d.To+".part", os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // a download is there to be read
	if err != nil {
		return result{}, err
	}
	defer part.Close() //nolint:errcheck // what counts was synchronised
	if st, err := part.Stat(); err != nil {
		return result{}, err
	} else if st.Size() < at.Done { // somebody removed it
		at, h = checkpoint{URL: d.URL}, sha256.New()
	}
	resumed, done, err := d.fetch(ctx, part, at, h)
	if err != nil {
		return result{}, err
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != d.SHA256 {
		return result{}, d.mismatch(got, resumed)
	}
	if err := errors.Join(os.Rename(d.To+".part", d.To), d.run.KV.Delete(key(d.SHA256))); err != nil {
		return result{}, err
	}
	d.run.Log.InfoContext(ctx, "fetched", slog.String("file", d.To), slog.Int64("bytes", done), slog.Int64("resumed", resumed))
	return result{File: d.To, Bytes: done, Resumed: resumed, Fetched: true}, nil
}

var errOther = errors.New("another file is in its place")

// verify returns the size of the file if it is there and is the one that is wanted.
func (d *download) verify() (int64, error) {
	f, err := os.Open(d.To)
	if err != nil {
		return 0, err
	}
	defer f.Close() //nolint:errcheck // it was read only
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err == nil && hex.EncodeToString(h.Sum(nil)) != d.SHA256 {
		err = errOther
	}
	return size, err
}

// fetch gets what is missing, and returns how much there was and how much there is.
func (d *download) fetch(ctx context.Context, part *os.File, at checkpoint, h hash.Hash) (resumed, done int64, err error) {
	resp, err := d.request(ctx, at)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close() //nolint:errcheck // it was read only
	if resp.Status != statusPart {
		h.Reset()
		at.Done = 0
	}
	at.Tag = tag(resp)
	if err := part.Truncate(at.Done); err != nil {
		return 0, 0, err
	}
	if _, err := part.Seek(at.Done, io.SeekStart); err != nil {
		return 0, 0, err
	}
	total := int64(0) // not known
	if n, err := strconv.ParseInt(resp.Get("Content-Length"), 10, 64); err == nil {
		total = at.Done + n
	}
	if total > d.MaxBytes {
		return 0, 0, d.tooLarge(total)
	}
	span := jobhost.Start(ctx, "download")
	defer func() { span.End(err) }()
	resumed = at.Done
	for {
		n, err := io.CopyN(io.MultiWriter(part, h), resp.Body, step)
		at.Done += n
		if at.Done > d.MaxBytes {
			return resumed, at.Done, d.tooLarge(at.Done)
		}
		if n > 0 {
			if err := errors.Join(part.Sync(), save(d.run.KV, d.Options, at, h)); err != nil {
				return resumed, at.Done, err
			}
			d.run.Progress(at.Done, total, d.To)
		}
		switch {
		case errors.Is(err, io.EOF):
			return resumed, at.Done, nil
		case err != nil:
			return resumed, at.Done, fmt.Errorf("%s after %d bytes: %w", d.URL, at.Done, err)
		}
	}
}

// The statuses that matter here.
const (
	statusOK      = 200
	statusPart    = 206
	statusTimeout = 408
	statusNoPart  = 416
	statusBusy    = 429
	statusServer  = 500 // and above: the server's own failures
)

// request asks for the file from where an earlier attempt stopped. A server whose file has changed, or that cannot do parts,
// sends all of it.
func (d *download) request(ctx context.Context, at checkpoint) (*jobhost.Response, error) {
	req := jobhost.Request{URL: d.URL, Header: map[string][]string{}}
	if at.Done > 0 {
		req.Header["range"] = []string{fmt.Sprintf("bytes=%d-", at.Done)}
		if at.Tag != "" {
			req.Header["if-range"] = []string{at.Tag}
		}
	}
	resp, err := jobhost.Send(ctx, req)
	if err != nil {
		return nil, err
	}
	switch {
	case resp.Status == statusOK, resp.Status == statusPart && continues(resp, at.Done):
		return resp, nil
	case at.Done > 0 && (resp.Status == statusNoPart || resp.Status == statusPart): // the part is of no use: all of it then
		if err := resp.Body.Close(); err != nil {
			return nil, err
		}
		return d.request(ctx, checkpoint{URL: d.URL})
	}
	err = errors.Join(jobhost.Fail(codeStatus, fmt.Sprintf("%s answered with status %d", d.URL, resp.Status)), resp.Body.Close())
	if resp.Status < statusServer && resp.Status != statusBusy && resp.Status != statusTimeout {
		err = jobhost.Permanent(err)
	}
	return nil, err
}

// continues reports whether a part begins where it should.
func continues(resp *jobhost.Response, at int64) bool {
	var from, to int64
	n, err := fmt.Sscanf(resp.Get("Content-Range"), "bytes %d-%d/", &from, &to)
	return err == nil && n == 2 && from == at && at > 0
}

// tag is what a server calls this version of a file: a strong ETag, or else the instant of its last change.
func tag(resp *jobhost.Response) string {
	if t := resp.Get("ETag"); strings.HasPrefix(t, `"`) {
		return t
	}
	return resp.Get("Last-Modified")
}

func (d *download) tooLarge(n int64) error {
	message := fmt.Sprintf("%s has %d bytes or more; max_bytes is %d", d.URL, n, d.MaxBytes)
	return errors.Join(jobhost.Permanent(jobhost.Fail(codeTooLarge, message)), d.forget())
}

// mismatch is the failure of a file that is not the one that was wanted. If parts of it are from different times, a retry from
// the start may mend that.
func (d *download) mismatch(got string, resumed int64) error {
	err := jobhost.Fail(codeMismatch, fmt.Sprintf("%s has SHA-256 %s; want %s", d.URL, got, d.SHA256))
	if resumed == 0 {
		err = jobhost.Permanent(err)
	}
	return errors.Join(err, d.forget())
}

// forget lets the next attempt begin from the start.
func (d *download) forget() error {
	return errors.Join(os.Remove(d.To+".part"), d.run.KV.Delete(key(d.SHA256)))
}
