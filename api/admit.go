package api

import (
	"context"
	"fmt"
	"net/http"
	"sync"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/jobhost/jobhost"
)

const (
	bodiesInFlight = 64 << 20 // bytes of the larger bodies that are read at one time
	smallBody      = 64 << 10 // bytes of one that is always read
)

// budget bounds the bytes of the bodies that are read and decoded at one time.
type budget struct {
	mu sync.Mutex

	left int64
}

// claim takes n bytes, unless there are too few. They are given back by release, which may be called more than once.
func (b *budget) claim(n int64) (release func(), ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.left {
		return nil, false
	}
	b.left -= n
	return sync.OnceFunc(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.left += n
	}), true
}

// releaseKey is where the context of a request has the release of its body.
type releaseKey struct{}

// releaseBody gives back what the body of a request had claimed: it may wait for hours for a run.
func releaseBody(ctx context.Context) {
	if release, ok := ctx.Value(releaseKey{}).(func()); ok {
		release()
	}
}

// admit refuses a larger body while too many are being read, and any body that is encoded: nothing here decodes one.
func (h *handler) admit(ctx huma.Context, next func(huma.Context)) {
	op := ctx.Operation()
	r, w := humago.Unwrap(ctx)
	if op.RequestBody == nil {
		next(ctx)
		return
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		p := newProblem(http.StatusUnsupportedMediaType, fmt.Sprintf("the body is encoded with %.20q; want it plain", enc))
		p.Code, p.Op = jobhost.InvalidDefinition, "api.read"
		writeProblem(w, p)
		return
	}
	size := r.ContentLength
	if size < 0 || size > op.MaxBodyBytes {
		size = op.MaxBodyBytes // more is not read
	}
	if size <= smallBody {
		next(ctx)
		return
	}
	release, ok := h.bodies.claim(size)
	if !ok {
		w.Header().Set("Retry-After", "1")
		p := newProblem(http.StatusServiceUnavailable, fmt.Sprintf("other requests have more than %d MiB of bodies under way", (bodiesInFlight-size)>>20))
		p.Code, p.Op, p.Hint = jobhost.NotServing, "api.read", "try again in a moment"
		writeProblem(w, p)
		return
	}
	defer release()
	next(huma.WithValue(ctx, releaseKey{}, release))
}
