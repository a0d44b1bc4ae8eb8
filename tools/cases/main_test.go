package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestStore"}
{"Action":"output","Package":"p","Test":"TestStore","Output":"S-09 is not a result\n"}
{"Action":"pass","Package":"p","Test":"TestStore/bolt/S-01_first"}
{"Action":"pass","Package":"p","Test":"TestStore/bolt/S-02_S-03_and_FR-12_together"}
{"Action":"skip","Package":"p","Test":"TestStore/memory/S-04_persistent"}
{"Action":"pass","Package":"p","Test":"TestStore/bolt/S-04_persistent"}
{"Action":"skip","Package":"p","Test":"TestStore/memory/S-05_shared"}
{"Action":"pass","Package":"p","Test":"TestStore/memory/S-06_all_parts_skipped"}
{"Action":"skip","Package":"p","Test":"TestStore/memory/S-06_all_parts_skipped/one"}
{"Action":"pass","Package":"p","Test":"TestStore/bolt/S-07_has_parts"}
{"Action":"pass","Package":"p","Test":"TestStore/bolt/S-07_has_parts/one"}
{"Action":"pass","Package":"p","Test":"TestStore/bolt/S-08_on_one_store"}
{"Action":"fail","Package":"p","Test":"TestStore/memory/S-08_on_one_store"}
{"Action":"pass","Package":"p","Test":"TestTLS-09_is_another_word"}
FAIL	something that is no event
{"Action":"fail","Package":"p"}
{"Action":"pass","Package":"q"}
`

func TestReport(t *testing.T) {
	list := filepath.Join(t.TempDir(), "required.txt")
	if err := os.WriteFile(list, []byte("# all\nS-01..S-09\n\nFR-12 # one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ok, err := run(list, strings.NewReader(events), &out)
	if err != nil || ok {
		t.Errorf("ok is %v, error %v", ok, err)
	}
	want := `S-09 is not a result
S-05 only skipped
S-06 only skipped
S-08 failed
S-09 has no test
package failed: p
cases: 6 of 10 have a passing test, 4 are missing; 1 tests failed
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", &out, want)
	}
}

func TestNothingMissing(t *testing.T) {
	list := filepath.Join(t.TempDir(), "required.txt")
	if err := os.WriteFile(list, []byte("S-01\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	ok, err := run(list, strings.NewReader(`{"Action":"pass","Package":"p","Test":"Test/FR-02_S-01_and_S-120"}`), &out)
	want := "not required, but there: S-120 FR-02\ncases: 1 of 1 have a passing test, 0 are missing; 0 tests failed\n"
	if err != nil || !ok || out.String() != want {
		t.Errorf("ok is %v, error %v, got:\n%s\nwant:\n%s", ok, err, &out, want)
	}
}

func TestWhatFailedIsPrinted(t *testing.T) {
	list := filepath.Join(t.TempDir(), "required.txt")
	if err := os.WriteFile(list, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	const events = `{"Action":"output","Package":"p","Test":"TestGood","Output":"all is well\n"}
{"Action":"output","Package":"p","Test":"TestBad","Output":"    bad_test.go:7: got 1, want 2\n"}
{"Action":"pass","Package":"p","Test":"TestGood"}
{"Action":"fail","Package":"p","Test":"TestBad"}
{"Action":"output","Package":"p","Test":"TestHung","Output":"panic: test timed out\n"}
{"Action":"output","Package":"p","Output":"FAIL\n"}
{"Action":"fail","Package":"p"}
{"ImportPath":"q","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q","Action":"build-fail"}
{"Action":"fail","Package":"q","FailedBuild":"q"}`
	var out bytes.Buffer
	ok, err := run(list, strings.NewReader(events), &out)
	want := `    bad_test.go:7: got 1, want 2
FAIL
panic: test timed out
q.go:1: undefined: x
package failed: p
package failed: q
cases: 0 of 0 have a passing test, 0 are missing; 1 tests failed
`
	if err != nil || ok || out.String() != want {
		t.Errorf("ok is %v, error %v, got:\n%s\nwant:\n%s", ok, err, &out, want)
	}
}

func TestRequiredListIsRead(t *testing.T) {
	b, err := os.ReadFile("required.txt")
	if err != nil {
		t.Fatal(err)
	}
	list, err := readRequired(string(b))
	if err != nil || len(list) == 0 {
		t.Errorf("%d cases, error %v", len(list), err)
	}
	for _, bad := range []string{"S-5..FR-7", "S-9..S-3", "S-1 S-2", "X-1", "S-01…S-22"} {
		if got, err := readRequired(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}
