package calendar_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost/calendar"
	"github.com/jobhost/jobhost/cron"
)

// plan is a line of kind plan of schedule.jsonl. What needs a planner is tested with the engine; here the calendars of
// these lines are.
type plan struct {
	Kind      string
	Schedule  string
	Calendars map[string]parameters
	From      time.Time
	Next      []time.Time
	Error     bool
	Why       string
	Note      string
}

// parameters are those of a calendar in the vectors.
type parameters struct {
	Type, Expr, From, To, TZ string
	Dates, Days              []string
	Members                  []parameters
}

func (p parameters) definition(name string) calendar.Definition {
	d := calendar.Definition{Name: name, Kind: p.Type, Dates: p.Dates, Days: p.Days, From: p.From, To: p.To, Expression: p.Expr, Zone: p.TZ}
	for _, m := range p.Members {
		inline := m.definition("")
		d.Members = append(d.Members, calendar.Member{Inline: &inline})
	}
	return d
}

func TestCalendarsOfThePlanVectors(t *testing.T) {
	lines := 0
	for _, p := range plans(t) {
		if len(p.Calendars) == 0 {
			continue
		}
		lines++
		t.Run(p.Schedule, func(t *testing.T) {
			var ds []calendar.Definition
			for name, c := range p.Calendars {
				ds = append(ds, c.definition(name))
			}
			set, err := calendar.Compile(ds...)
			_, name, _ := strings.Cut(p.Schedule, "calendar=")
			c := set[name]
			switch {
			case p.Error && err == nil && c != nil:
				t.Fatalf("calendar %q is accepted; want an error: %s", name, p.Why)
			case p.Error:
				return
			case err != nil:
				t.Fatal(err)
			}
			for _, at := range p.Next {
				if c != nil && c.IsExcluded(at) {
					t.Errorf("%v is excluded by %s; want a run (%s)", at, calendar.Why(c, at), p.Note)
				}
			}
			if s := onlyCron(t, p.Schedule); s != nil {
				checkSkipped(t, p, s, c)
			}
		})
	}
	if lines < 40 {
		t.Errorf("%d lines with calendars, want 40 or more", lines)
	}
}

// checkSkipped requires that every match between two runs is excluded.
func checkSkipped(t *testing.T, p plan, s *cron.Schedule, c calendar.Calendar) {
	t.Helper()
	at := p.From
	for _, want := range p.Next {
		for at = s.Next(at); at.Before(want) && !at.IsZero(); at = s.Next(at) {
			if !c.IsExcluded(at) {
				t.Fatalf("%v is not excluded; want no run before %v (%s)", at, want, p.Note)
			}
		}
		if !at.Equal(want) {
			t.Fatalf("match %v, want %v", at, want)
		}
	}
}

// onlyCron returns the schedule of a cron text without window, or nil.
func onlyCron(t *testing.T, text string) *cron.Schedule {
	t.Helper()
	expr, ok := strings.CutPrefix(text, "cron ")
	if !ok || strings.Contains(text, "start=") || strings.Contains(text, "end=") {
		return nil
	}
	expr, _, _ = strings.Cut(expr, " calendar=")
	expr, zone, _ := strings.Cut(expr, " tz=")
	e, err := cron.Parse(expr)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := cron.LoadZone(zone)
	if err != nil {
		t.Fatal(err)
	}
	return e.In(loc)
}

// plans reads schedule.jsonl from the root's testdata, or from the directory that JOBHOST_VECTORS names.
func plans(t *testing.T) []plan {
	t.Helper()
	dir := os.Getenv("JOBHOST_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "testdata")
	}
	f, err := os.Open(filepath.Join(dir, "schedule.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var ps []plan
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var kind struct{ Kind string }
		if err := json.Unmarshal(lines.Bytes(), &kind); err != nil {
			t.Fatal(err)
		}
		if kind.Kind != "plan" {
			continue
		}
		var p plan
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			t.Fatal(err)
		}
		ps = append(ps, p)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return ps
}
