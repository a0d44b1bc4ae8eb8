package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/config"
)

func TestErrorsHaveACodeAndALineEach(t *testing.T) {
	ours := func(code jobhost.Code) error {
		return &jobhost.Error{Code: code, Op: "engine.op", Msg: "it\nis so", Hint: "mend it"}
	}
	for name, c := range map[string]struct {
		err  error
		code int
		want string
	}{
		"none":                   {nil, 0, ""},
		"of any kind":            {errors.New("two\nlines"), 1, "jobhost: two; lines"},
		"a wrong use":            {usage("jobhost job: no %s", "x"), 2, "jobhost job: no x"},
		"said before":            {exit{1, nil}, 1, ""},
		"VALIDATION":             {ours(jobhost.InvalidDefinition), 2, "jobhost: it; is so; mend it (SCHEDULING_VALIDATION_001)"},
		"NOTFOUND":               {ours(jobhost.NotFoundRun), 3, "jobhost: it; is so; mend it (SCHEDULING_NOTFOUND_004)"},
		"CONFLICT":               {ours(jobhost.JobRunning), 4, "jobhost: it; is so; mend it (SCHEDULING_CONFLICT_001)"},
		"UNAVAILABLE":            {ours(jobhost.NotServing), 5, "jobhost: it; is so; mend it (SCHEDULING_UNAVAILABLE_001)"},
		"a store that is full":   {ours(jobhost.StoreFull), 1, "jobhost: it; is so; mend it (SCHEDULING_UNAVAILABLE_004)"},
		"a store without access": {ours(jobhost.StoreUnreachable), 1, "jobhost: it; is so; mend it (SCHEDULING_UNAVAILABLE_003)"},
		"UNEXPECTED":             {ours(jobhost.Unexpected), 1, "jobhost: it; is so; mend it (SCHEDULING_UNEXPECTED_001)"},
		"waited too long":        {context.DeadlineExceeded, 124, "jobhost: waited too long; what was asked for may still happen"},
		"interrupted":            {context.Canceled, 130, "jobhost: interrupted; what was asked for may still happen"},
		"several":                {joined([]error{ours(jobhost.NotFoundJob), errors.New("b")}), 3, "jobhost: it; is so; mend it (SCHEDULING_NOTFOUND_001)|jobhost: b"},
		"problems of a file":     {exit{2, config.Problems{{Pos: config.Position{File: "f", Line: 1, Column: 2}, Key: "k", Msg: "m"}, {Key: "l", Msg: "n"}}}, 2, "f:1:2: k: m|l: n"},
		"a store that is in use": {ofHost(ours(jobhost.StoreUnreachable)), 1, "jobhost: it; is so; mend it (SCHEDULING_UNAVAILABLE_003)"},
		"a plugin that is lost":  {ofHost(ours(jobhost.NotFoundPlugin)), 2, "jobhost: it; is so; mend it (SCHEDULING_NOTFOUND_002)"},
		"wrapped":                {fmt.Errorf("doing: %w", ours(jobhost.JobRunning)), 4, "jobhost: doing: engine.op: it; is so; mend it (SCHEDULING_CONFLICT_001)"},
	} {
		var said strings.Builder
		code := (&cli{err: &said}).report(c.err)
		if got := strings.ReplaceAll(strings.TrimSuffix(said.String(), "\n"), "\n", "|"); code != c.code || got != c.want {
			t.Errorf("%s: exit code %d, %q; want %d, %q", name, code, got, c.code, c.want)
		}
	}
}
