package wire

import "context"

type hostKey struct{}

// NewContext returns a context that carries the host of a run.
func NewContext(ctx context.Context, h Host) context.Context {
	return context.WithValue(ctx, hostKey{}, h)
}

// FromContext returns the host of the run that a context belongs to. In WebAssembly it always is the same one.
func FromContext(ctx context.Context) (Host, bool) {
	if h, ok := ctx.Value(hostKey{}).(Host); ok {
		return h, true
	}
	return here()
}
