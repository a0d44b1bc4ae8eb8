package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

const sample = "../../../examples-data/orders/orders.csv"

func TestReportOfTheShippedOrders(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "not", "there", "yet")
	data := fmt.Sprintf(`{"input":%q,"output":%q,"top":3}`, sample, dir)
	var out, log bytes.Buffer
	if err := run(strings.NewReader(data), &out, &log); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"report.md", "report.json"} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		golden := filepath.Join("testdata", name+".golden")
		if *update {
			if err := os.WriteFile(golden, got, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(got), string(want)); diff != "" {
			t.Errorf("%s differs; if that is meant, run go test -update (-got +want):\n%s", name, diff)
		}
	}
	if diff := cmp.Diff(out.String(), `{"bad_rows":13,"currency":"EUR","orders":326,"total":"39227.35"}`+"\n"); diff != "" {
		t.Errorf("result (-got +want):\n%s", diff)
	}
	if got, want := strings.Count(log.String(), "\n"), 13+1; got != want {
		t.Errorf("the log has %d lines, want %d:\n%s", got, want, &log)
	}
	left, err := filepath.Glob(filepath.Join(dir, "*.next"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

const header = "order,date,customer,product,quantity,unit_price,currency\n"

func read(t *testing.T, rows string) Report {
	t.Helper()
	r, err := Read(strings.NewReader(header+rows), Options{Currency: "EUR", Top: 5})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEachKindOfBadRowIsReportedWithItsLine(t *testing.T) {
	const good = "A-1,2026-01-31,Ada,Tea,2,1.50,EUR\n"
	for _, c := range []struct{ name, row, want string }{
		{"too few fields", "A-2,2026-01-31,Ada", "3 fields; want 7"},
		{"too many fields", "A-2,2026-01-31,Ada,Tea,2,1.50,EUR,x", "8 fields; want 7"},
		{"an empty field", "A-2,2026-01-31, ,Tea,2,1.50,EUR", "customer is empty"},
		{"a day that is not there", "A-2,2026-02-30,Ada,Tea,2,1.50,EUR", `date "2026-02-30" is no date; want year-month-day`},
		{"no quantity", "A-2,2026-01-31,Ada,Tea,0,1.50,EUR", `quantity "0" is no whole number other than 0`},
		{"half a piece", "A-2,2026-01-31,Ada,Tea,1.5,1.50,EUR", `quantity "1.5" is no whole number other than 0`},
		{"a comma in the price", `A-2,2026-01-31,Ada,Tea,2,"1,50",EUR`, `unit_price: "1,50" is no number; want digits with a point, such as 12.50`},
		{"a negative price", "A-2,2026-01-31,Ada,Tea,2,-1.50,EUR", `unit_price: "-1.50" is negative`},
		{"a price beyond counting", "A-2,2026-01-31,Ada,Tea,2,900000000000000,EUR", "2 × 900000000000000 is too large"},
		{"a sum beyond counting", "A-2,2026-01-31,Ada,Tea,1,922337203685476,EUR", "with this order a sum is too large"},
		{"a second order of a name", "A-1,2026-01-31,Ada,Tea,2,1.50,EUR", "order A-1 is in line 2 already"},
		{"a stray quote", `A-2,2026-01-31,A"da,Tea,2,1.50,EUR`, `bare " in non-quoted-field`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := read(t, good+c.row+"\n"+strings.Replace(good, "A-1", "A-3", 1))
			if diff := cmp.Diff(r.Bad, []Bad{{3, c.want}}); diff != "" {
				t.Errorf("bad rows (-got +want):\n%s", diff)
			}
			if want := "6.00"; c.name != "a sum beyond counting" && r.Total.String() != want {
				t.Errorf("total %v, want %s: the rows around it count", r.Total, want)
			}
		})
	}
}

func TestLinesAreCountedInTheFileNotInRows(t *testing.T) {
	r := read(t, "A-1,2026-01-31,\"Ada\nCo\",Tea,2,1.50,EUR\n\nA-2,x,Ada,Tea,1,1,EUR\n")
	if diff := cmp.Diff(r.Bad, []Bad{{5, `date "x" is no date; want year-month-day`}}); diff != "" {
		t.Errorf("bad rows (-got +want):\n%s", diff)
	}
}

func TestReturnsAndOtherCurrencies(t *testing.T) {
	r := read(t, "A-1,2026-01-31,Ada,Tea,3,0.10,EUR\nA-2,2026-02-01,Ada,Tea,-1,0.10,EUR\nA-3,2026-02-01,Ada,Tea,1,0.10,CHF\n")
	want := Report{
		Currency: "EUR", Rows: 3, Orders: 2, Total: 2_000, OtherCurrency: 1, CustomerCount: 1,
		Customers: []Group{{"Ada", 2, 2, 2_000}}, Products: []Group{{"Tea", 2, 2, 2_000}},
		Months: []Group{{"2026-01", 1, 3, 3_000}, {"2026-02", 1, -1, -1_000}},
	}
	if diff := cmp.Diff(r, want); diff != "" {
		t.Errorf("-got +want:\n%s", diff)
	}
}

func TestBadRowsAreAllCountedAndTheFirstAreListed(t *testing.T) {
	r := read(t, strings.Repeat("x\n", maxListed+7))
	if len(r.Bad) != maxListed || r.BadRows != maxListed+7 {
		t.Errorf("%d listed, %d counted; want %d and %d", len(r.Bad), r.BadRows, maxListed, maxListed+7)
	}
	if md := string(Markdown(r)); !strings.Contains(md, "And 7 more.") {
		t.Errorf("the report does not say how many more there are:\n%s", md)
	}
}

func TestAFileWithAnotherHeaderIsRefused(t *testing.T) {
	for _, text := range []string{"", "id,date\n", strings.ToUpper(header)} {
		if _, err := Read(strings.NewReader(text), Options{Input: "o.csv"}); err == nil || !strings.HasPrefix(err.Error(), "o.csv: ") {
			t.Errorf("header %q: error %v, want one that names the file", text, err)
		}
	}
	if _, err := Read(strings.NewReader("\ufeff"+header), Options{}); err != nil {
		t.Errorf("with a byte order mark: %v", err)
	}
}

func TestTextFromTheFileCannotBreakATable(t *testing.T) {
	md := string(Markdown(read(t, "A-1,2026-01-31,\"A|da\nCo\",Tea,2,1.50,EUR\n")))
	if !strings.Contains(md, `| A\|da Co | 1 | 2 | 3.00 |`) {
		t.Errorf("want the customer in one cell:\n%s", md)
	}
}

func TestOptionsAreCheckedAllAtOnce(t *testing.T) {
	for data, want := range map[string]string{
		`{}`: "the data is wrong: input is missing; want the path of a CSV file; output is missing; want the path of a directory",
		`{"input":"a","output":"b","top":-1,"currency":"€"}`: `the data is wrong: currency is "€"; want three capital letters, such as EUR; top is -1; want 1 to 1000`,
		`{"inputs":"a"}`: `the data is wrong: json: unknown field "inputs"`,
	} {
		err := run(strings.NewReader(data), &bytes.Buffer{}, &bytes.Buffer{})
		if !errors.Is(err, errOptions) || strings.Contains(err.Error(), "\n") {
			t.Fatalf("data %s: error %v, want errOptions in one line", data, err)
		}
		if diff := cmp.Diff(err.Error(), want); diff != "" {
			t.Errorf("data %s (-got +want):\n%s", data, diff)
		}
	}
}
