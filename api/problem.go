package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/jobhost/jobhost"
)

// Problem is the body of every failed call (RFC 9457), of type about:blank, with the members that a [jobhost.Error] has
// beyond it.
type Problem struct {
	Title  string         `json:"title" doc:"The status in words."`
	Status int            `json:"status" doc:"The status of the response, or in a batch the one that the item alone would have had."`
	Detail string         `json:"detail,omitempty" doc:"What went wrong, in one line."`
	Code   jobhost.Code   `json:"code,omitempty" doc:"The stable code of the failure. Absent where no route was found."`
	Hint   string         `json:"hint,omitempty" doc:"What to do about it."`
	Op     string         `json:"op,omitempty" doc:"What was being done."`
	Params map[string]any `json:"params,omitempty" doc:"The values in the detail."`
	Errors []Fault        `json:"errors,omitempty" doc:"Each single problem, where there may be more than one."`
}

// Fault is one of several problems of a request.
type Fault struct {
	Location string         `json:"location,omitempty" doc:"Where in the request it is, such as body.triggers[0].name."`
	Detail   string         `json:"detail"`
	Code     jobhost.Code   `json:"code,omitempty"`
	Hint     string         `json:"hint,omitempty"`
	Op       string         `json:"op,omitempty"`
	Params   map[string]any `json:"params,omitempty"`
}

const problemType = "application/problem+json"

// The bounds of a problem. What a request has wrong may be repeated many times in it, and each time be long.
const (
	maxFaults = 100     // that are told
	maxTold   = 10      // of them in the detail
	maxDetail = 4 << 10 // bytes
	maxPlace  = 256     // bytes of a location
)

// clipped is text of at most n bytes and whole characters.
func clipped(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}

// Error returns the detail. It makes a Problem an error that a handler can return.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the status of the response.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is application/problem+json.
func (p *Problem) ContentType(string) string { return problemType }

// Err turns the problem back into the error that it was made from: a [jobhost.Error], or several joined.
func (p *Problem) Err() error {
	var errs []error
	for _, f := range p.Errors {
		if f.Code != "" {
			errs = append(errs, &jobhost.Error{Code: f.Code, Op: f.Op, Msg: f.Detail, Hint: f.Hint, Params: f.Params})
		}
	}
	if len(errs) > 1 {
		return errors.Join(errs...)
	}
	return &jobhost.Error{Code: p.Code, Op: p.Op, Msg: p.Detail, Hint: p.Hint, Params: p.Params}
}

// problemOf describes err. An error without a code is [jobhost.Unexpected], and the end of ctx its cause, if that is one
// of ours, or [jobhost.NotServing].
func problemOf(ctx context.Context, err error) *Problem {
	if cause := context.Cause(ctx); cause != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)) {
		if err = cause; jobhost.CodeOf(err) == "" {
			err = &jobhost.Error{Code: jobhost.NotServing, Msg: "the request ended before its answer: " + cause.Error(), Err: cause}
		}
	}
	all := coded(err)
	if len(all) == 0 {
		all = []*jobhost.Error{{Code: jobhost.Unexpected, Msg: err.Error()}}
	}
	e := all[0]
	p := newProblem(statusOf(e.Code), clipped(e.Msg, maxDetail))
	p.Code, p.Hint, p.Op, p.Params = e.Code, e.Hint, e.Op, e.Params
	if len(all) > 1 {
		for i, e := range all {
			if i == maxFaults {
				p.Errors = append(p.Errors, more(len(all)))
				break
			}
			p.Errors = append(p.Errors, Fault{Detail: clipped(e.Msg, maxDetail), Code: e.Code, Hint: e.Hint, Op: e.Op, Params: e.Params})
		}
	}
	return p
}

// coded lists the errors with a code in err: the outermost of a chain, and each of a join.
func coded(err error) []*jobhost.Error {
	switch e := err.(type) { //nolint:errorlint // the walk goes down the chain itself
	case *jobhost.Error:
		return []*jobhost.Error{e}
	case interface{ Unwrap() error }:
		return coded(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []*jobhost.Error
		for _, err := range e.Unwrap() {
			all = append(all, coded(err)...)
		}
		return all
	}
	return nil
}

// statusOf is the status of a code's family (SPEC 29).
func statusOf(code jobhost.Code) int {
	family, _, _ := strings.Cut(strings.TrimPrefix(string(code), "SCHEDULING_"), "_")
	switch family {
	case "NOTFOUND":
		return http.StatusNotFound
	case "VALIDATION":
		return http.StatusBadRequest
	case "CONFLICT":
		return http.StatusConflict
	case "UNAVAILABLE":
		return http.StatusServiceUnavailable
	case "TIMEOUT":
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

func newProblem(status int, detail string) *Problem {
	return &Problem{Title: http.StatusText(status), Status: status, Detail: detail}
}

// fromModel turns a refusal of the framework, which names each fault with its place, into a Problem. The refused value
// itself is left out: it can be the whole body.
func fromModel(m *huma.ErrorModel) *Problem {
	p := newProblem(framed(m.Status), m.Detail)
	p.Code = jobhost.InvalidDefinition
	if p.Status >= http.StatusInternalServerError {
		p.Code = jobhost.Unexpected
	}
	var told []string
	for i, e := range m.Errors {
		if i == maxFaults {
			p.Errors = append(p.Errors, more(len(m.Errors)))
			break
		}
		if e == nil {
			continue
		}
		f := Fault{Location: clipped(e.Location, maxPlace), Detail: clipped(e.Message, maxDetail)}
		if p.Errors = append(p.Errors, f); len(told) < maxTold {
			told = append(told, f.Location+": "+f.Detail)
		}
	}
	if len(m.Errors) > maxTold {
		told = append(told, more(len(m.Errors)).Detail)
	}
	if len(told) > 0 {
		p.Detail = clipped(p.Detail+": "+strings.Join(told, "; "), maxDetail)
	}
	return p
}

// more stands for the faults that are not told.
func more(all int) Fault { return Fault{Detail: fmt.Sprintf("and more: %d in all", all)} }

// framed is the status to answer with where the framework chose another: a request that does not validate is 400, as
// all of SPEC 29's VALIDATION family is.
func framed(status int) int {
	if status == http.StatusUnprocessableEntity {
		return http.StatusBadRequest
	}
	return status
}

// writeProblem answers outside of the framework.
func writeProblem(w http.ResponseWriter, p *Problem) {
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = encoder(w).Encode(p) // the client is gone; there is nobody to tell
}
