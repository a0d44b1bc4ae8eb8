package host

import (
	"context"
	"errors"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost"
)

// Instantiate makes an instance of the plugin of a call as [Host.Run] does, with its memory and its start function if it has
// one, and throws it away without calling it. It tells what of a run is not the plugin's doing.
func (h *Host) Instantiate(ctx context.Context, call jobhost.Call) error {
	m, grant, _, refused := h.begin(call)
	if m == nil {
		return &jobhost.Error{Code: refused.Code, Op: "host.instantiate", Msg: refused.Message}
	}
	defer h.work.Done()
	defer h.modules.put(ctx, m)
	if call.Sink == nil {
		call.Sink = deaf{}
	}
	ctx, cancel := h.bound(ctx, call.Deadline)
	defer cancel()
	r, err := newRun(ctx, h, m, call, grant)
	if err != nil {
		return err
	}
	err = r.within(func(context.Context, api.Module) error { return nil }) //nolint:contextcheck // the run carries its context
	if errors.Is(err, errEnded) {
		return context.Cause(ctx)
	}
	return err
}
