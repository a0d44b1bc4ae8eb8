package api

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/jobhost/jobhost"
)

// StoreKeeper is a store that can be described and copied as a whole, as one in a file can. [Client] is one too, for the
// store of its server.
type StoreKeeper interface {
	StoreStats(ctx context.Context) (StoreStats, error)
	// BackupStore writes a copy of the store's file as it is at one moment. On an error what was written is of no use.
	BackupStore(ctx context.Context, w io.Writer) error
	// ExportStore writes every record as a line of JSON: {"kind":"job","record":{…}}.
	ExportStore(ctx context.Context, w io.Writer) error
}

// StoreStats describes a store and its file.
type StoreStats struct {
	Path      string  `json:"path" doc:"Of the file, as the server calls it."`
	Format    int     `json:"format" doc:"Of the file."`
	Size      int64   `json:"size" doc:"Of the file, in bytes."`
	MaxSize   int64   `json:"maxSize,omitempty" doc:"That the file may reach, in bytes; absent: no limit."`
	PageSize  int     `json:"pageSize" doc:"In bytes."`
	Pages     int     `json:"pages" doc:"That the file has room for."`
	FreePages int     `json:"freePages" doc:"Of those."`
	FreeShare float64 `json:"freeShare" doc:"Of the file, 0 to 1."`

	Jobs            int `json:"jobs"`
	Triggers        int `json:"triggers" doc:"One-shots of retries, recoveries and requests included."`
	OpenRuns        int `json:"openRuns" doc:"In progress."`
	EndedRuns       int `json:"endedRuns"`
	LogChunks       int `json:"logChunks" doc:"Pieces of logs, of at most 64 KiB each."`
	Outputs         int `json:"outputs"`
	Nodes           int `json:"nodes"`
	CancelRequests  int `json:"cancelRequests"`
	IdempotencyKeys int `json:"idempotencyKeys"`
	Values          int `json:"values" doc:"Durable values of jobs."`

	OldestRun time.Time `json:"oldestRun,omitzero" doc:"Start of the run that started first."`
	NewestRun time.Time `json:"newestRun,omitzero" doc:"Start of the one that started last."`
}

const bytesType = "application/octet-stream"

func (h *handler) store(a huma.API) {
	stats := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[StoreStats](), true, "")
	answer := func(description, kind string, s *huma.Schema) map[string]*huma.Response {
		return map[string]*huma.Response{"200": {Description: description, Content: map[string]*huma.MediaType{kind: {Schema: s}}}}
	}
	add(h, a, huma.Operation{
		OperationID: "store-stats", Method: http.MethodGet, Path: "/v1/store/stats", Summary: "Describe the store; 501 for one without a file",
		Responses: answer("OK", "application/json", stats),
	}, func(ctx context.Context, _ *empty) (*stream, error) {
		if h.cfg.Store == nil {
			return noFile()
		}
		st, err := h.cfg.Store.StoreStats(ctx)
		if err != nil {
			return nil, err
		}
		return &stream{func(hc huma.Context) { writeJSON(hc, st) }}, nil
	})
	add(h, a, huma.Operation{
		OperationID: "backup-store", Method: http.MethodGet, Path: "/v1/store/backup", Summary: "A copy of the store's file; 501 for one without a file",
		Responses: answer("The file, of one moment. An answer that breaks off is of no use.", bytesType, &huma.Schema{Type: "string", Format: "binary"}),
	}, func(ctx context.Context, _ *empty) (*stream, error) {
		if h.cfg.Store == nil {
			return noFile()
		}
		return h.copied(ctx, bytesType, "jobhost.db", h.cfg.Store.BackupStore), nil
	})
	add(h, a, huma.Operation{
		OperationID: "export-store", Method: http.MethodGet, Path: "/v1/store/export", Summary: "Every record of the store; 501 for one without a file",
		Responses: answer("One record a line, of one moment. An answer that breaks off is not whole.", linesType, &huma.Schema{
			Type: "object", Required: []string{"kind", "record"}, Properties: map[string]*huma.Schema{"kind": {Type: "string"}, "record": {Type: "object"}},
		}),
	}, func(ctx context.Context, _ *empty) (*stream, error) {
		if h.cfg.Store == nil {
			return noFile()
		}
		return h.copied(ctx, linesType, "jobhost.jsonl", h.cfg.Store.ExportStore), nil
	})
}

// noFile is the answer of a server whose store cannot be copied.
func noFile() (*stream, error) {
	p := newProblem(http.StatusNotImplemented, "the store of this server has no file")
	p.Code, p.Op, p.Hint = jobhost.InvalidDefinition, "api.store", "only a store of kind bolt has one"
	return &stream{func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		writeProblem(w, p)
	}}, nil
}

// copied answers with what do writes. A failure after the first byte breaks the answer off: nothing else tells a client,
// whatever it is, that what it has got is not whole.
func (h *handler) copied(ctx context.Context, kind, file string, do func(context.Context, io.Writer) error) *stream {
	return &stream{func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		out := &late{w: w, head: func() {
			w.Header().Set("Content-Type", kind)
			w.Header().Set("Content-Disposition", `attachment; filename="`+file+`"`)
			w.WriteHeader(http.StatusOK)
		}}
		err := do(ctx, out)
		switch {
		case err == nil:
			out.begin()
			return
		case !out.began:
			writeProblem(w, problemOf(ctx, err))
			return
		case out.err == nil && ctx.Err() == nil:
			h.cfg.Log.ErrorContext(ctx, "a copy of the store is broken off", slog.String("file", file), slog.Any("err", err))
		}
		panic(http.ErrAbortHandler)
	}}
}

// late is an answer whose head is written with its first byte.
type late struct {
	w     io.Writer
	head  func()
	began bool
	err   error // of the client
}

func (l *late) begin() {
	if !l.began {
		l.began = true
		l.head()
	}
}

// Write implements [io.Writer].
func (l *late) Write(p []byte) (int, error) {
	l.begin()
	n, err := l.w.Write(p)
	l.err = errors.Join(l.err, err)
	return n, err
}
