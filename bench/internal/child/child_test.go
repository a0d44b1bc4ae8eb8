package child_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost/bench/internal/child"
	"github.com/jobhost/jobhost/bench/internal/report"
)

// order tells the child what to come to.
type order struct{ End string }

func TestMain(m *testing.M) {
	child.Answer(func(o order) (report.Values, error) {
		switch o.End {
		case "skip":
			return nil, child.Skip("there is no %s", "server")
		case "fail":
			return nil, errors.New("it failed")
		case "hang":
			time.Sleep(time.Hour)
		case "die":
			os.Exit(3)
		}
		return report.Values{"parent": float64(os.Getppid())}, nil
	})
	os.Exit(m.Run())
}

func TestAChildMeasuresInItsOwnProcess(t *testing.T) {
	v, err := child.Run(t.Context(), time.Minute, order{})
	if err != nil {
		t.Fatal(err)
	}
	if got := int(v["parent"]); got != os.Getpid() {
		t.Errorf("measured below process %d, want %d", got, os.Getpid())
	}
}

func TestAChildSaysWhyThereAreNoFigures(t *testing.T) {
	for end, want := range map[string]string{"skip": "there is no server", "fail": "it failed", "die": "exit status 3", "hang": "stopped after 500ms"} {
		limit := time.Minute
		if end == "hang" {
			limit = 500 * time.Millisecond
		}
		_, err := child.Run(t.Context(), limit, order{end})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", end, err, want)
		}
		if _, skipped := errors.AsType[*child.SkipError](err); skipped != (end == "skip") {
			t.Errorf("%s: skipped is %v", end, skipped)
		}
	}
}
