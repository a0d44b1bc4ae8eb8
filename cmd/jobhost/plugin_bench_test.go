package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestADistributionOfTimes(t *testing.T) {
	var took []time.Duration
	for i := range 200 {
		took = append(took, time.Duration(200-i)*time.Millisecond)
	}
	for _, test := range []struct {
		took []time.Duration
		want distribution
	}{
		{nil, distribution{}},
		{[]time.Duration{1500 * time.Microsecond}, distribution{1.5, 1.5, 1.5, 1.5, 1.5}},
		{[]time.Duration{3 * time.Millisecond, time.Millisecond, 2 * time.Millisecond}, distribution{2, 2, 3, 3, 3}},
		{took, distribution{100.5, 100, 180, 198, 200}},
	} {
		if diff := cmp.Diff(distributionOf(test.took), test.want); diff != "" {
			t.Errorf("%d times: %s", len(test.took), diff)
		}
	}
}
