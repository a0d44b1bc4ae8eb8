package jobhost_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost"
)

// textVector is a line of kind text of schedule.jsonl.
type textVector struct {
	Kind      string
	Text      string
	Fields    textFields
	Canonical string
	Error     bool
	Why       string
	Choice    string
}

type textFields struct {
	Kind            string
	IntervalSeconds float64 `json:"interval_seconds"`
	Repeat          int
	Expr            string
	TZ              string
	At              time.Time
	Start           time.Time
	End             time.Time
	Calendar        string
}

func fieldsOf(s jobhost.Schedule) textFields {
	f := textFields{
		Kind: s.Kind.String(), IntervalSeconds: s.Interval.Seconds(), Repeat: s.Times,
		Expr: s.Expr, At: s.At, Start: s.Start, End: s.End, Calendar: s.Calendar,
	}
	if s.Kind == jobhost.Cron {
		f.TZ = s.Zone
		if f.TZ == "" {
			f.TZ = "UTC"
		}
	}
	return f
}

func TestScheduleTextVectors(t *testing.T) {
	n := 0
	for _, v := range textVectors(t) {
		n++
		t.Run(v.Text, func(t *testing.T) {
			s, err := jobhost.ParseSchedule(v.Text)
			switch {
			case v.Error && err == nil:
				t.Fatalf("ParseSchedule(%q) succeeds; want an error: %s", v.Text, v.Why)
			case v.Error:
				return
			case err != nil:
				t.Fatalf("ParseSchedule(%q): %v (%s)", v.Text, err, v.Choice)
			}
			if diff := cmp.Diff(fieldsOf(s), v.Fields); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
			if v.Canonical != "" && s.String() != v.Canonical {
				t.Errorf("written as %q, want %q", s, v.Canonical)
			}
			if again, err := jobhost.ParseSchedule(s.String()); err != nil || again != s {
				t.Errorf("read again: %+v, %v; want %+v", again, err, s)
			}
		})
	}
	if n < 70 {
		t.Errorf("%d vectors of kind text, want 70 or more", n)
	}
}

// textVectors reads schedule.jsonl from testdata, or from the directory that JOBHOST_VECTORS names.
func textVectors(t *testing.T) []textVector {
	t.Helper()
	dir := os.Getenv("JOBHOST_VECTORS")
	if dir == "" {
		dir = "testdata"
	}
	f, err := os.Open(filepath.Join(dir, "schedule.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var vs []textVector
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v textVector
		if err := json.Unmarshal(lines.Bytes(), &struct{ Kind *string }{&v.Kind}); err != nil {
			t.Fatal(err)
		}
		if v.Kind != "text" {
			continue
		}
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		vs = append(vs, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vs
}
