package boltstore

import (
	"bufio"
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/jobhost/jobhost"
)

// Data may be nested deeper than the engine takes it today, since a store keeps whatever it was given.
func TestExportHasDataInFullHoweverDeepItIs(t *testing.T) {
	for _, depth := range []int{1, jobhost.MaxDataDepth + 1, 5_000, 9_997, 9_998, 9_999, 10_000, 10_001, 50_000} {
		data := json.RawMessage(`{"<a & b>": ` + strings.Repeat("[", depth-1) + `"` + "\u2028" + `", 1.50e0` + strings.Repeat("]", depth-1) + `}`)
		if depth == 1 {
			data = json.RawMessage(`{"<a & b>": "` + "\u2028" + `", "n": 1.50e0}`)
		}
		s := fresh(t, Config{})
		job := jobhost.Job{JobDef: jobhost.NewJob("j", "p"), Source: jobhost.SourceFile}
		trigger := jobhost.Trigger{Key: jobhost.TriggerKey{Job: "j", Trigger: "t"}, State: jobhost.TriggerWaiting, Due: t0}
		shot := jobhost.Trigger{Key: jobhost.TriggerKey{Job: "j", Trigger: "manual-1"}, State: jobhost.TriggerWaiting, Due: t0}
		shot.OneShot = &jobhost.OneShot{Kind: jobhost.KindManual, RunID: testID(9, t0), Data: data}
		open, over := testRun(1, "j", t0), succeeded(testRun(2, "j", t0), t0)
		job.Data, trigger.Data, open.Data, over.Data = data, data, data, data
		update(t, s, func(tx jobhost.Tx) error {
			if err := tx.PutJobs(job); err != nil {
				return err
			}
			if err := tx.PutTriggers(trigger, shot); err != nil {
				return err
			}
			return tx.PutRuns(open, over)
		})
		var out bytes.Buffer
		if err := s.Export(t.Context(), &out); err != nil {
			t.Fatalf("depth %d: %v", depth, err)
		}
		want := strings.NewReplacer(": ", ":", ", ", ",").Replace(string(data)) // a line has no spaces between values
		found := 0
		for lines := bufio.NewReader(&out); ; {
			line, err := lines.ReadBytes('\n')
			if err != nil {
				break
			}
			var got struct {
				Kind   string
				Record struct {
					Data    json.RawMessage
					OneShot struct{ Data json.RawMessage }
				}
			}
			if err := json.Unmarshal(line, &got); err != nil {
				t.Errorf("depth %d: %.60s… cannot be read: %v", depth, line, err)
				continue
			}
			for _, d := range []json.RawMessage{got.Record.Data, got.Record.OneShot.Data} {
				if len(d) == 0 {
					continue
				}
				found++
				text, exact := string(d), want
				if d[0] == '"' { // as text, since no reader would take it as JSON
					exact = string(data)
					if err := json.Unmarshal(d, &text); err != nil {
						t.Errorf("depth %d: %v", depth, err)
					}
				}
				if asText := d[0] == '"'; text != exact || asText != (depth > 9_997) {
					t.Errorf("depth %d: %s has %.40s…, %d bytes, as text %v; want %.40s…, %d bytes", depth, got.Kind, text, len(text), asText, exact, len(exact))
				}
			}
		}
		if found != 5 {
			t.Errorf("depth %d: %d records have data, want 5", depth, found)
		}
	}
}
