package jobhost_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jobhost/jobhost"
)

func TestErrorText(t *testing.T) {
	for _, tt := range []struct {
		err  jobhost.Error
		want string
	}{
		{jobhost.Error{Code: jobhost.NotFoundJob, Msg: `job "x" is not registered`}, `job "x" is not registered (SCHEDULING_NOTFOUND_001)`},
		{
			jobhost.Error{Code: jobhost.JobRunning, Op: "engine.trigger", Msg: `job "x" is running`, Hint: "wait for run 7"},
			`engine.trigger: job "x" is running; wait for run 7 (SCHEDULING_CONFLICT_001)`,
		},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("text is %q, want %q", got, tt.want)
		}
	}
}

func TestCodeOf(t *testing.T) {
	full := &jobhost.Error{Code: jobhost.StoreFull, Msg: "full"}
	outer := &jobhost.Error{Code: jobhost.Unexpected, Msg: "outer", Err: full}
	for _, tt := range []struct {
		name string
		err  error
		want jobhost.Code
	}{
		{"no error", nil, ""},
		{"another error", errors.New("x"), ""},
		{"an error of a context", context.Canceled, ""},
		{"the error itself", full, jobhost.StoreFull},
		{"wrapped by another", fmt.Errorf("saving: %w", full), jobhost.StoreFull},
		{"one of several", errors.Join(errors.New("x"), full), jobhost.StoreFull},
		{"the outermost wins", fmt.Errorf("x: %w", outer), jobhost.Unexpected},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := jobhost.CodeOf(tt.err); got != tt.want {
				t.Errorf("code is %q, want %q", got, tt.want)
			}
		})
	}
	if cause := errors.New("disk"); !errors.Is(&jobhost.Error{Err: cause}, cause) {
		t.Error("the cause is not in the chain")
	}
}
