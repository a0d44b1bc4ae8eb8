package calendar_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/calendar"
)

func TestDefinitionsThatAreRefused(t *testing.T) {
	type d = calendar.Definition
	named := func(names ...string) (ms []calendar.Member) {
		for _, n := range names {
			ms = append(ms, calendar.Member{Name: n})
		}
		return ms
	}
	tests := []struct {
		name        string
		definitions []d
		want        string
	}{
		{"S-64 from equal to to", []d{{Name: "c", Kind: "daily", From: "08:00", To: "08:00:00"}}, `calendar "c": from and to are both 08:00; want two different times`},
		{"S-66 a cycle", []d{
			{Name: "a", Kind: "composite", Members: named("b")},
			{Name: "b", Kind: "composite", Members: named("c")},
			{Name: "c", Kind: "composite", Members: named("b")},
		}, `calendar "b": its members form a cycle: b → c → b`},
		{"S-66 a calendar in itself", []d{{Name: "a", Kind: "composite", Members: named("a")}}, `calendar "a": its members form a cycle: a → a`},
		{"S-66 a cycle through an inline member", []d{{Name: "a", Kind: "composite", Members: []calendar.Member{{Inline: &d{Kind: "composite", Members: named("a")}}}}}, `calendar "a": its members form a cycle: a → a`},
		{"an unknown member", []d{{Name: "a", Kind: "composite", Members: named("b")}}, `calendar "a": member "b" is not defined`},
		{"the same name twice", []d{{Name: "a", Kind: "weekly"}, {Name: "a", Kind: "weekly"}}, `calendar "a": there are two calendars of this name`},
		{"no name", []d{{Kind: "weekly"}}, `calendar "": name "" is not valid; want 1 to 128 of a-z, 0-9, '.', '_', '-', beginning with a letter or digit`},
		{"a name in capitals", []d{{Name: "A", Kind: "weekly"}}, `calendar "A": name "A" is not valid; want 1 to 128 of a-z, 0-9, '.', '_', '-', beginning with a letter or digit`},
		{"an inline member with a name", []d{{Name: "a", Kind: "composite", Members: []calendar.Member{{Inline: &d{Name: "b", Kind: "weekly"}}}}}, `calendar "a": the inline member 1 has the name "b"; want none, or a calendar of its own`},
		{"an invalid inline member", []d{{Name: "a", Kind: "composite", Members: []calendar.Member{{Inline: &d{Kind: "holiday", Dates: []string{"tomorrow"}}}}}}, `calendar "a": member 1: date "tomorrow" is not valid; want YYYY-MM-DD`},
		{"an unknown kind", []d{{Name: "a", Kind: "lunar"}}, `calendar "a": kind "lunar" is unknown; want one of ["composite" "cron" "daily" "holiday" "weekly"]`},
		{"no such date", []d{{Name: "a", Kind: "holiday", Dates: []string{"2026-02-30", "2026-2-3"}}}, "calendar \"a\": date \"2026-02-30\" is not valid; want YYYY-MM-DD\ndate \"2026-2-3\" is not valid; want YYYY-MM-DD"},
		{"no such weekday", []d{{Name: "a", Kind: "weekly", Days: []string{"SUNDAY"}}}, `calendar "a": day "SUNDAY" is not valid; want MON, TUE, WED, THU, FRI, SAT or SUN`},
		{"a weekday across two names", []d{{Name: "a", Kind: "weekly", Days: []string{"UNM"}}}, `calendar "a": day "UNM" is not valid; want MON, TUE, WED, THU, FRI, SAT or SUN`},
		{"no times", []d{{Name: "a", Kind: "daily"}}, "calendar \"a\": from \"\" is not a time of day; want HH:MM or HH:MM:SS\nto \"\" is not a time of day; want HH:MM or HH:MM:SS"},
		{"a short time", []d{{Name: "a", Kind: "daily", From: "8:00", To: "09:00"}}, `calendar "a": from "8:00" is not a time of day; want HH:MM or HH:MM:SS`},
		{"a time with a fraction", []d{{Name: "a", Kind: "daily", From: "08:00:00.5", To: "09:00"}}, `calendar "a": from "08:00:00.5" is not a time of day; want HH:MM or HH:MM:SS`},
		{"midnight by another name", []d{{Name: "a", Kind: "daily", From: "08:00", To: "24:00"}}, `calendar "a": to "24:00" is not a time of day; want 00:00 for midnight`},
		{"a bad expression", []d{{Name: "a", Kind: "cron", Expression: "0 24 * * *"}}, `calendar "a": expression "0 24 * * *": hour "24": 24 is out of range; want 0-23; midnight is 0`},
		{"an unknown zone", []d{{Name: "a", Kind: "weekly", Zone: "Mars/Base"}}, `calendar "a": zone "Mars/Base" is unknown; want an IANA name such as Europe/Berlin, or UTC`},
		{"a parameter of another kind", []d{{Name: "a", Kind: "weekly", Dates: []string{"2026-01-01"}}}, `calendar "a": dates is not for the kind weekly, which has days, tz`},
		{"a composite with a zone", []d{{Name: "a", Kind: "composite", Zone: "Asia/Shanghai"}}, `calendar "a": tz is not for the kind composite, which has members`},
		{"all problems at once", []d{{Name: "b", Kind: "x"}, {Name: "a", Kind: "daily", From: "1", To: "02:00"}}, "calendar \"a\": from \"1\" is not a time of day; want HH:MM or HH:MM:SS\ncalendar \"b\": kind \"x\" is unknown; want one of [\"composite\" \"cron\" \"daily\" \"holiday\" \"weekly\"]"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			set, err := calendar.Compile(tt.definitions...)
			if err == nil || set != nil {
				t.Fatalf("Compile = %v, %v; want an error", set, err)
			}
			if diff := cmp.Diff(err.Error(), tt.want); diff != "" {
				t.Errorf("-got +want:\n%s", diff)
			}
		})
	}
}

func TestTheReasonNamesCalendarAndMember(t *testing.T) {
	const definitions = `[
		{"name": "office", "kind": "composite", "members": ["weekends", "closed", {"kind": "daily", "from": "18:00", "to": "08:00"}]},
		{"name": "closed", "kind": "composite", "members": ["holidays", {"kind": "cron", "expression": "* * 12 * * *"}]},
		{"name": "weekends", "kind": "weekly"},
		{"name": "holidays", "kind": "holiday", "dates": ["2026-12-25"], "tz": "Asia/Shanghai"}
	]`
	var ds []calendar.Definition
	if err := json.Unmarshal([]byte(definitions), &ds); err != nil {
		t.Fatal(err)
	}
	set, err := calendar.Compile(ds...)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ calendar, at, want string }{
		{"office", "2026-01-03T10:00:00Z", "office/weekends"},
		{"office", "2026-12-25T10:00:00Z", "office/closed/holidays"},
		{"office", "2026-01-05T12:30:00Z", "office/closed/cron * * 12 * * * (UTC)"},
		{"office", "2026-01-05T20:00:00Z", "office/daily 18:00:00-08:00:00 (UTC)"},
		{"office", "2026-01-05T10:00:00Z", ""},
		{"holidays", "2026-12-25T10:00:00Z", "holidays"},
		{"holidays", "2026-12-25T16:00:00Z", ""},
	} {
		if got := calendar.Why(set[tt.calendar], instant(t, tt.at)); got != tt.want {
			t.Errorf("Why(%s, %s) = %q, want %q", tt.calendar, tt.at, got, tt.want)
		}
	}
	again, err := json.Marshal(ds)
	if err != nil {
		t.Fatal(err)
	}
	var back []calendar.Definition
	if err := json.Unmarshal(again, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(back, ds); diff != "" {
		t.Errorf("written and read again, -got +want:\n%s", diff)
	}
}

func TestUnnamedCalendarsSayWhatTheyAre(t *testing.T) {
	weekly, err := calendar.Weekly(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	saturday := instant(t, "2026-01-03T10:00:00Z")
	if got, want := calendar.Why(weekly, saturday), "weekly SAT,SUN (UTC)"; got != want {
		t.Errorf("Why = %q, want %q", got, want)
	}
	two, err := calendar.Holiday([]string{"2026-01-03", "2026-12-25"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := calendar.Why(two, saturday), "holiday 2 dates from 2026-01-03 to 2026-12-25 (UTC)"; got != want {
		t.Errorf("Why = %q, want %q", got, want)
	}
	if _, err := calendar.Weekly([]time.Weekday{7}, nil); err == nil {
		t.Error("Weekly with weekday 7 succeeds")
	}
}
