package engine

import (
	"context"

	"github.com/jobhost/jobhost"
)

// native is a runner whose jobs do nothing but say that they started.
type native func(jobhost.Call)

func (n native) Run(_ context.Context, c jobhost.Call) jobhost.Outcome {
	n(c)
	return jobhost.Outcome{}
}

func (native) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "p", Ready: true}}, nil
}
