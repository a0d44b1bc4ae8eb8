package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// Self is the node that answers.
type Self struct {
	Node  string `json:"node" doc:"Its id."`
	State string `json:"state" doc:"Created, Started, Serving, Draining, Stopping or Stopped. Only one that is Serving fires triggers."`
}

// nodes registers what is about instances and not about jobs.
func (h *handler) nodes(a huma.API) {
	add(h, a, huma.Operation{
		OperationID: "list-nodes", Method: http.MethodGet, Path: "/v1/nodes", Summary: "List the nodes that share the store",
	}, func(ctx context.Context, _ *empty) (*body[[]jobhost.Node], error) {
		nodes, err := h.s.Nodes(ctx)
		return list(nodes), err
	})
	add(h, a, huma.Operation{
		OperationID: "get-self", Method: http.MethodGet, Path: "/v1/self", Summary: "Which node answers, and what it does",
	}, func(context.Context, *empty) (*body[Self], error) {
		if h.cfg.Self == nil {
			return nil, &jobhost.Error{Code: jobhost.Unexpected, Op: "api.self", Msg: "this server does not tell which node it is"}
		}
		return &body[Self]{h.cfg.Self()}, nil
	})
	add(h, a, huma.Operation{
		OperationID: "drain-node", Method: http.MethodPost, Path: "/v1/nodes/{node}/drain", DefaultStatus: http.StatusAccepted,
		Summary: "Ask a node to fire no more triggers; its runs go on",
	}, func(ctx context.Context, in *struct {
		Node string `path:"node"`
	},
	) (*empty, error) {
		return nil, h.s.Drain(ctx, in.Node)
	})
	event := a.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[jobhost.Event](), true, "")
	add(h, a, huma.Operation{
		OperationID: "follow-events", Method: http.MethodGet, Path: "/v1/events", Summary: "Follow what happens on the answering instance",
		Responses: map[string]*huma.Response{"200": {
			Description: "One event a line, from the head of the answer on, until the instance stops.",
			Content:     map[string]*huma.MediaType{linesType: {Schema: event}},
		}},
	}, func(ctx context.Context, _ *empty) (*stream, error) {
		events := h.s.Events(ctx) // they count from here, and so before the client sees the head
		return &stream{func(hc huma.Context) { writeLines(ctx, hc, events, true) }}, nil
	})
}
