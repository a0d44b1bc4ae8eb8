package jobhost_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

func TestContextCarriesTheRun(t *testing.T) {
	if r, ok := jobhost.RunFromContext(t.Context()); ok {
		t.Errorf("a plain context has the run %+v", r)
	}
	want := jobhost.Run{ID: "a", Job: "j", Attempt: 2}
	got, ok := jobhost.RunFromContext(jobhost.ContextWithRun(t.Context(), want))
	if diff := cmp.Diff(got, want); !ok || diff != "" {
		t.Errorf("found is %v, run (-got +want):\n%s", ok, diff)
	}
}

func TestOneUnwrapsASingleAnswer(t *testing.T) {
	problem := errors.New("no")
	if v, err := jobhost.One([]jobhost.Result[int]{{Value: 7, Err: problem}}); v != 7 || !errors.Is(err, problem) {
		t.Errorf("got %d, %v", v, err)
	}
}
