package cron_test

import (
	_ "embed"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost/cron"
)

// zoneNames are those of the database that is compiled in.
//
//go:embed testdata/zones.txt
var zoneNames string

func TestEveryZoneLoads(t *testing.T) {
	for name := range strings.Lines(zoneNames) {
		name = strings.TrimSpace(name)
		loc, err := cron.LoadZone(name)
		if err != nil {
			t.Error(err)
			continue
		}
		if canonical, err := cron.CanonicalZone(name); err != nil || canonical != name {
			t.Errorf("CanonicalZone(%q) = %q, %v", name, canonical, err)
		}
		if again, _ := cron.LoadZone(name); again != loc {
			t.Errorf("LoadZone(%q) gives another location the second time", name)
		}
	}
}

func TestZoneNames(t *testing.T) {
	const want = "want an IANA name such as Europe/Berlin, or UTC"
	tests := []struct{ name, zone, canonical, err string }{
		{"S-21 unknown", "Mars/Base", "", `zone "Mars/Base" is unknown; ` + want},
		{"S-21 local", "Local", "", `zone "Local" means something different on each machine; ` + want},
		{"S-21 empty", "", "UTC", ""},
		{"S-21 a Windows id", "China Standard Time", "Asia/Shanghai", ""},
		{"FR-27 a zone that every container knows", "Asia/Shanghai", "Asia/Shanghai", ""},
		{"UTC", "UTC", "UTC", ""},
		{"UTC by another name", "Etc/UTC", "Etc/UTC", ""},
		{"a Windows id in another case", "w. europe standard TIME", "Europe/Berlin", ""},
		{"a Windows id without blanks", "UTC-11", "Etc/GMT+11", ""},
		{"another spelling of local", "localtime", "", `zone "localtime" means something different on each machine; ` + want},
		{"lower case", "asia/shanghai", "", `zone "asia/shanghai" is unknown; write Asia/Shanghai`},
		{"a blank", "America/New York", "", `zone "America/New York" is unknown; write America/New_York`},
		{"an offset", "GMT+8", "", `zone "GMT+8" is unknown; an offset is written like Etc/GMT-8, which is eight hours ahead of UTC`},
		{"a path", "../../etc/passwd", "", `zone "../../etc/passwd" is unknown; ` + want},
		{"a file that is beside the zones", "posixrules", "", `zone "posixrules" is unknown; ` + want},
		{"a zone with leap seconds", "right/Europe/Berlin", "", `zone "right/Europe/Berlin" is unknown; ` + want},
		{"a long name", strings.Repeat("A", 1000), "", `zone "` + strings.Repeat("A", 1000) + `" is unknown; ` + want},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			canonical, err := cron.CanonicalZone(tt.zone)
			switch {
			case tt.err == "" && err != nil:
				t.Fatal(err)
			case tt.err != "" && (err == nil || err.Error() != tt.err):
				t.Fatalf("error is %v, want %s", err, tt.err)
			case canonical != tt.canonical:
				t.Errorf("CanonicalZone(%q) = %q, want %q", tt.zone, canonical, tt.canonical)
			}
			if _, err := cron.LoadZone(tt.zone); (err == nil) != (tt.err == "") {
				t.Errorf("LoadZone(%q): %v, want %q", tt.zone, err, tt.err)
			}
		})
	}
}

// At each setting of each zone's clock from 2024 to 2037 the search goes on, and gives what a walk from minute to minute
// gives.
func TestEverySettingOfEveryClock(t *testing.T) {
	t.Run("FR-25 from 2024 to 2037", testEverySetting)
}

func testEverySetting(t *testing.T) {
	var exprs []cron.Expression
	var oracles []*oracle
	for _, expr := range []string{"*/30 * * * *", "15 2 * * *", "0 0 * * *", "* 1-3 * * *", "45 23,0,1 * * SUN"} {
		e, err := cron.Parse(expr)
		if err != nil {
			t.Fatal(err)
		}
		exprs, oracles = append(exprs, e), append(oracles, newOracle(expr))
	}
	type setting struct {
		at            int64
		before, after int
	}
	seen := map[setting]bool{} // many zones share their rules
	checked := 0
	for name := range strings.Lines(zoneNames) {
		loc, err := cron.LoadZone(strings.TrimSpace(name))
		if err != nil {
			t.Fatal(err)
		}
		// What LoadZone prepares must not differ from what the zone itself says.
		plain, err := time.LoadLocation(strings.TrimSpace(name))
		if err != nil {
			t.Fatal(err)
		}
		for at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC); at.Year() < 2038; {
			_, change := at.In(loc).ZoneBounds()
			if change.IsZero() {
				break
			}
			if !change.After(at) { // time.ZoneBounds is a day off at the end of some leap years
				change = at.Add(24 * time.Hour)
			}
			if at = change; at.Year() > 2037 {
				break
			}
			_, before := at.Add(-1).In(loc).Zone()
			_, after := at.In(loc).Zone()
			if c := (setting{at.Unix(), before, after}); before != after && !seen[c] {
				seen[c] = true
			} else {
				continue
			}
			for i, e := range exprs {
				checked++
				checkAround(t, e, oracles[i], loc, at)
				from := at.Add(-4 * time.Hour)
				if got, want := e.In(loc).Next(from), e.In(plain).Next(from); !got.Equal(want) {
					t.Fatalf("%q after %v: %v with the prepared zone, %v without", e, from, got, want)
				}
			}
		}
	}
	if checked < 2000 {
		t.Errorf("checked %d settings of clocks, want 2000 or more", checked)
	}
}

// checkAround follows an expression from four hours before a setting of the clock to four hours after it.
func checkAround(t *testing.T, e cron.Expression, o *oracle, loc *time.Location, change time.Time) {
	t.Helper()
	from, to := change.Add(-4*time.Hour).In(loc), change.Add(4*time.Hour)
	next := e.In(loc).Next(from)
	for at := from.Add(time.Minute); at.Before(to); at = at.Add(time.Minute) {
		matches := o.matches(at) && !shownBefore(at)
		if matches != next.Equal(at) || next.Before(at) {
			t.Fatalf("%q in %v around %v: next is %v, the walk is at %v and says %v", e, loc, change, next, at, matches)
		}
		if matches {
			after := next
			if next = e.In(loc).Next(after); !next.After(after) {
				t.Fatalf("%q in %v: Next(%v) = %v is not later", e, loc, after, next)
			}
		}
	}
}

func TestMonthsOfDatesBeyondTheTableOfAZone(t *testing.T) {
	s := mustIn(t, "0 12 1 * *", newYork)
	at := instant(t, "2095-01-01T00:00:00Z")
	for range 12 * 20 {
		next := s.Next(at)
		if next.Hour() != 12 || next.Day() != 1 || next.Sub(at) > 32*24*time.Hour {
			t.Fatalf("Next(%v) = %v, want noon on the first of the month", at, next)
		}
		at = next
	}
}
