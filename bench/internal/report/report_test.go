package report

import (
	"strings"
	"testing"
)

func TestATableShowsWhatARowLacksAsADash(t *testing.T) {
	var out strings.Builder
	rows := []Row{{Name: "a", Values: Values{"x": 1234.5, "y": 0.25}}, {Name: "b", Values: Values{"x": 12}}, {Name: "c", Note: "no server"}}
	if err := Table(&out, "title", []Column{{"x", "X"}, {"y", "Y"}}, rows); err != nil {
		t.Fatal(err)
	}
	want := "\ntitle\n\n   X     Y\na  1234  0.250\nb  12.0  –\nc: no server\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheMedianIsTakenOfEachFigure(t *testing.T) {
	got := Median([]Values{{"x": 3}, {"x": 1, "y": 7}, {"x": 2}})
	if got["x"] != 2 || got["y"] != 7 || len(got) != 2 {
		t.Errorf("got %v, want x 2 and y 7", got)
	}
}

func TestQuantiles(t *testing.T) {
	figures := make([]float64, 100)
	for i := range figures {
		figures[i] = float64(99 - i)
	}
	for q, want := range map[float64]float64{0: 0, 0.5: 50, 0.99: 99, 1: 99} {
		if got := Quantile(figures, q); got != want {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
}
