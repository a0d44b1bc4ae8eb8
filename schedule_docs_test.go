package jobhost_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/cron"
)

// What docs/schedules.md shows is read as it stands there.
func TestTheScheduleTextsOfTheDocumentationAreValid(t *testing.T) {
	doc, err := os.ReadFile("docs/schedules.md")
	if err != nil {
		t.Fatal(err)
	}
	var texts, conditions int
	for line := range strings.Lines(string(doc)) {
		m := regexp.MustCompile("^\\| `((?:manual|every|cron|once|start=|end=|calendar=)[^`]*)` \\|").FindStringSubmatch(line)
		if m == nil {
			continue
		}
		text := m[1]
		if strings.Contains(text, "=") && !strings.Contains(text, " ") {
			conditions++
			text = "every 1h " + text
		}
		texts++
		if _, err := jobhost.ParseSchedule(text); err != nil {
			t.Error(err)
		}
	}
	if texts != 8 || conditions != 3 {
		t.Errorf("found %d texts, %d of them conditions; want 8 and 3", texts, conditions)
	}
}

func TestFiveMinutesInBerlinPauseWhenAnHourIsRepeated(t *testing.T) {
	zone, err := cron.LoadZone("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	expr, err := cron.Parse("*/5 * * * *")
	if err != nil {
		t.Fatal(err)
	}
	e := expr.In(zone)
	longest, last := time.Duration(0), time.Date(2027, 10, 31, 0, 0, 0, 0, time.UTC)
	for range 300 {
		next := e.Next(last)
		longest, last = max(longest, next.Sub(last)), next
	}
	if longest != 65*time.Minute {
		t.Errorf("the longest pause is %s; the documentation says an hour and five minutes", longest)
	}
}
