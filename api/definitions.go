package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// Definer is a scheduler that tells how its jobs are defined now. A handler over one answers with it; the client of such a
// handler is one. Errors: [jobhost.NotFoundJob].
type Definer interface {
	Definitions(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobDef]
}

var _ Definer = (*Client)(nil)

// definitions registers what a job is, as against what it does.
func (h *handler) definitions(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "get-definition", Method: http.MethodGet, Path: "/v1/jobs/{job}/definition",
		Summary: "How a job is defined, in the form in which PUT takes it",
	}, func(ctx context.Context, in *jobPath) (*body[Definition], error) {
		def, err := h.definition(ctx, in.Job)
		return &body[Definition]{DefinitionOf(def)}, err
	})
	add(h, a, huma.Operation{
		OperationID: "get-grants", Method: http.MethodGet, Path: "/v1/jobs/{job}/grants",
		Summary: "What the answering node lets a job use, in words; no secret and no value of a variable is among them",
	}, func(ctx context.Context, in *jobPath) (*body[[]string], error) {
		st, err := jobhost.One(h.s.Status(ctx, []jobhost.Name{in.Job}))
		if err != nil || h.cfg.Grants == nil {
			return list[string](nil), err
		}
		return list(h.cfg.Grants(st.Name, st.Plugin)), nil
	})
}

func (h *handler) definition(ctx context.Context, name jobhost.Name) (jobhost.JobDef, error) {
	d, ok := h.s.(Definer)
	if !ok {
		return jobhost.JobDef{}, &jobhost.Error{
			Code: jobhost.Unexpected, Op: "api.definition", Msg: "the scheduler of this server does not tell how jobs are defined",
		}
	}
	return jobhost.One(d.Definitions(ctx, []jobhost.Name{name}))
}

// Definitions implements [Definer].
func (c *Client) Definitions(ctx context.Context, names []jobhost.Name) []jobhost.Result[jobhost.JobDef] {
	out := make([]jobhost.Result[jobhost.JobDef], len(names))
	for i, name := range names {
		var d Definition
		if out[i].Err = c.ofJob(ctx, name, "definition", &d); out[i].Err == nil {
			out[i].Value, out[i].Err = d.JobDef()
		}
	}
	return out
}

// Grants lists in words what the answering node lets a job use. Errors: [jobhost.NotFoundJob].
func (c *Client) Grants(ctx context.Context, name jobhost.Name) (words []string, err error) {
	err = c.ofJob(ctx, name, "grants", &words)
	return words, err
}

// ofJob reads something of a job.
func (c *Client) ofJob(ctx context.Context, name jobhost.Name, what string, out any) error {
	if !jobhost.ValidName(name) { // it could not stand in a path
		return noJob(name)
	}
	return c.do(ctx, request{method: http.MethodGet, path: []string{"jobs", name, what}}, out)
}
