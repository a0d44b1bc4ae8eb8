package cron_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/cron"
)

func TestRefusals(t *testing.T) {
	const (
		shape   = "want 5 (minute hour day month weekday), 6 (second in front) or 7 (year at the end)"
		day     = "want 1-31, L, L-n, nW or LW"
		weekday = "want 0-7, SUN-SAT, FRIL or FRI#2"
	)
	tests := []struct{ name, expr, want string }{
		{"S-23 four fields", "0 0 * *", "4 fields; " + shape},
		{"S-23 eight fields", "* * * * * * * *", "8 fields; " + shape + "; zone, user and command are not part of an expression"},
		{"S-23 a macro", "@daily", `the macro "@daily" is not supported; write "0 0 * * *"`},
		{"S-23 a macro with fields", "@every 5m 1 1 1 1", `the macro "@every" is not supported; an interval is not a cron expression`},
		{"S-23 an unknown macro", " @noon", `the macro "@noon" is not supported`},
		{"S-23 empty", "", "the expression is empty; " + shape},
		{"S-23 blank", " \t", "the expression is empty; " + shape},
		{"S-27 Friday to Monday", "0 0 * * FRI-MON", `weekday "FRI-MON": the range ends before it starts; write FRI-SAT,SUN-MON`},
		{"S-27 Saturday to Sunday", "0 0 * * SAT-SUN", `weekday "SAT-SUN": the range ends before it starts; write SAT,SUN`},
		{"S-27 hours", "0 22-2 * * *", `hour "22-2": the range ends before it starts; write 22-23,0-2`},
		{"S-28 lone L", "0 0 * * L", `weekday "L": L alone has no meaning here; write SAT for Saturday, FRIL for the last Friday of the month`},
		{"S-28 sixth Friday", "0 0 * * FRI#6", `weekday "FRI#6": "6" after # is out of range; want 1-5`},
		{"S-28 no Friday", "0 0 * * FRI#0", `weekday "FRI#0": "0" after # is out of range; want 1-5`},
		{"S-28 L-3W", "0 0 L-3W * *", `day "L-3W": not a day; ` + day + "; write LW for the last weekday of the month"},
		{"S-28 L-31", "0 0 L-31 * *", `day "L-31": 31 days before the last day is out of range; want 1-30`},
		{"S-28 32W", "0 0 32W * *", `day "32W": the day before W is out of range; want 1-31`},
		{"S-29 minute 60", "60 * * * *", `minute "60": 60 is out of range; want 0-59; the full hour is 0`},
		{"S-29 hour 24", "0 24 * * *", `hour "24": 24 is out of range; want 0-23; midnight is 0`},
		{"S-29 day 0", "0 0 0 * *", `day "0": 0 is out of range; ` + day},
		{"S-29 day 32", "0 0 32 * *", `day "32": 32 is out of range; ` + day},
		{"S-29 month 13", "0 0 * 13 *", `month "13": 13 is out of range; want 1-12 or JAN-DEC`},
		{"S-29 weekday 8", "0 0 * * 8", `weekday "8": 8 is out of range; ` + weekday},
		{"S-29 year 1969", "0 0 0 * * ? 1969", `year "1969": 1969 is out of range; want 1970-2099`},
		{"S-29 year 2100", "0 0 0 * * ? 2100", `year "2100": 2100 is out of range; want 1970-2099`},
		{"S-29 step 0", "*/0 * * * *", `minute "*/0": the step is 0; want 1 or more`},
		{"S-29 stepped question mark", "0 0 ?/2 * *", `day "?/2": "?" is not a value; ` + day + "; ? stands alone; write *"},
		{"S-29 question mark in the hour", "0 ? * * *", `hour "?": ? is for day and weekday only; write *`},
		{"question mark in a list of minutes", "5,? * * * *", `minute "?": "?" is not a value; want 0-59; ? is for day and weekday only; write *`},
		{"second 60", "60 * * * * *", `second "60": 60 is out of range; want 0-59; the full minute is 0`},
		{"six fields with a year", "0 9 1 1 * 2026", `weekday "2026": 2026 is out of range; ` + weekday + "; a six-field expression begins with the second; for a year write all seven fields"},
		{"long name of a weekday", "0 0 * * TUES", `weekday "TUES": "TUES" is not a value; ` + weekday + "; names have three letters; write TUE"},
		{"long name of a month", "0 0 1 january *", `month "january": "january" is not a value; want 1-12 or JAN-DEC; names have three letters; write JAN`},
		{"H of Jenkins", "H * * * *", `minute "H": "H" is not a value; want 0-59; no value is drawn here; choose one`},
		{"tilde of OpenBSD", "0~30 * * * *", `minute "0~30": "0~30" is not a value; want 0-59; no value is drawn here; choose one`},
		{"a forgotten slash", "*5 * * * *", `minute "*5": "*5" is not a value; want 0-59; write */5 for every 5`},
		{"two stars", "** * * * *", `minute "**": "**" is not a value; want 0-59`},
		{"an empty item", "1,,2 * * * *", `minute "1,,2": an item of the list is empty`},
		{"a missing end", "1- * * * *", `minute "1-": a value is missing; want 0-59`},
		{"a step that is no number", "*/x * * * *", `minute "*/x": the step "x" is not a number; want 1 or more`},
		{"a reversed range with a step", "0 22-2/2 * * *", `hour "22-2/2": the range ends before it starts`},
		{"reversed years", "0 0 0 * * ? 2030-2020", `year "2030-2020": the range ends before it starts`},
		{"reversed months", "0 0 * DEC-JAN *", `month "DEC-JAN": the range ends before it starts; write DEC,JAN`},
		{"the last Friday as a day", "0 0 5L * *", `day "5L": not a day; ` + day + "; nL is for the weekday only; the last day of the month is L"},
		{"a stepped L", "0 0 L/2 * *", `day "L/2": not a day; ` + day + "; L and W take no step"},
		{"letters swapped", "0 0 WL * *", `day "WL": not a day; ` + day + "; write LW for the last weekday of the month"},
		{"W as a weekday", "0 0 * * 15W", `weekday "15W": "15W" is not a value; ` + weekday + "; nW is for the day only"},
		{"# as a day", "0 0 2#1 * *", `day "2#1": "2#1" is not a value; ` + day + "; n#k is for the weekday only"},
		{"L as a minute", "L * * * *", `minute "L": "L" is not a value; want 0-59; L and W are for the days only`},
		{"a full-width digit", "0 ５ * * *", "character '５' at byte 2; want plain ASCII in one line"},
		{"a line break", "0 0 * * *\n", "line break at byte 9; want plain ASCII in one line"},
		{"a no-break space", "0\u00a00 * * *", `character '\u00a0' at byte 1; want plain ASCII in one line`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := cron.Parse(tt.expr)
			if err == nil {
				t.Fatalf("Parse(%q) succeeds", tt.expr)
			}
			if diff := cmp.Diff(err.Error(), tt.want); diff != "" {
				t.Errorf("Parse(%q), -got +want:\n%s", tt.expr, diff)
			}
		})
	}
}

// What a refusal says to write instead can be written.
func TestHintsOfReversedRangesParse(t *testing.T) {
	for expr, instead := range map[string]string{
		"0 0 * * FRI-MON": "0 0 * * FRI-SAT,SUN-MON",
		"50-10 * * * *":   "50-59,0-10 * * * *",
		"0 0 28-3 * *":    "0 0 28-31,1-3 * *",
		"0 0 * NOV-FEB *": "0 0 * NOV-DEC,JAN-FEB *",
	} {
		if _, err := cron.Parse(expr); err == nil {
			t.Errorf("Parse(%q) succeeds", expr)
		}
		if _, err := cron.Parse(instead); err != nil {
			t.Errorf("Parse(%q): %v", instead, err)
		}
	}
}

func TestErrorsNameFieldAndItem(t *testing.T) {
	_, err := cron.Parse("0 0 1,32 * *")
	e, ok := errors.AsType[*cron.SyntaxError](err)
	if !ok {
		t.Fatalf("error is a %T, want a *cron.SyntaxError", err)
	}
	want := cron.SyntaxError{Field: cron.Day, Item: "32", Problem: "32 is out of range; want 1-31, L, L-n, nW or LW"}
	if diff := cmp.Diff(*e, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}
