package cron_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/cron"
)

// vector is a line of cron.jsonl. Its README tells what the members mean.
type vector struct {
	Expr   string
	TZ     string
	From   time.Time
	Next   []time.Time
	End    bool
	Error  bool
	Why    string
	Note   string
	Choice string
}

func TestVectors(t *testing.T) {
	for _, v := range vectors(t) {
		if v.Error {
			t.Run("refuses "+v.Expr, func(t *testing.T) {
				if _, err := cron.Parse(v.Expr); err == nil {
					t.Errorf("Parse(%q) succeeds; want an error: %s", v.Expr, v.Why)
				}
			})
			continue
		}
		t.Run(v.Expr+" "+v.TZ, func(t *testing.T) {
			s := mustIn(t, v.Expr, v.TZ)
			got := []time.Time{}
			from := v.From
			for range len(v.Next) + 1 {
				if from = s.Next(from); from.IsZero() {
					break
				}
				got = append(got, from)
			}
			end := len(got) <= len(v.Next)
			got = got[:min(len(got), len(v.Next))]
			if diff := cmp.Diff(got, v.Next); diff != "" {
				t.Errorf("%s (%s) after %v, -got +want:\n%s", v.Note, v.Choice, v.From, diff)
			}
			if end != v.End {
				t.Errorf("%s: ends after these is %v, want %v", v.Note, end, v.End)
			}
		})
	}
}

// vectors reads cron.jsonl from testdata, or from the directory that JOBHOST_VECTORS names.
func vectors(t *testing.T) []vector {
	t.Helper()
	dir := os.Getenv("JOBHOST_VECTORS")
	if dir == "" {
		dir = "testdata"
	}
	f, err := os.Open(filepath.Join(dir, "cron.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var vs []vector
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("line %d: %v", len(vs)+1, err)
		}
		vs = append(vs, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(vs) < 700 {
		t.Fatalf("%d vectors, want 700 or more", len(vs))
	}
	return vs
}

func mustIn(tb testing.TB, expr, zone string) *cron.Schedule {
	tb.Helper()
	e, err := cron.Parse(expr)
	if err != nil {
		tb.Fatalf("Parse(%q): %v", expr, err)
	}
	loc, err := cron.LoadZone(zone)
	if err != nil {
		tb.Fatalf("LoadZone(%q): %v", zone, err)
	}
	return e.In(loc)
}
