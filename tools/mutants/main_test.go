package main

import (
	"slices"
	"strings"
	"testing"
)

func TestTheListIsRead(t *testing.T) {
	mutants, err := parse(list)
	if err != nil || len(mutants) < 25 {
		t.Errorf("%d mutants, error %v; want 25 or more", len(mutants), err)
	}
	for _, m := range mutants {
		if m.old == m.new || m.dir == "./" {
			t.Errorf("%q changes nothing", m.name)
		}
	}
	for _, bad := range []string{
		"name: a\npackage: f\nold: x\n",
		"name: a\npackage: f\nnew: x\nold: y\n",
		"name: a\npackage: f\nold: x\nnew: y\nname: a\npackage: f\nold: x\nnew: z\n",
	} {
		if _, err := parse([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestWhatIsRed(t *testing.T) {
	for name, c := range map[string]struct {
		events string
		red    []string
		err    string
	}{
		"a case that failed": {
			`{"Action":"run","Test":"T/S-76_a"}
{"Action":"fail","Test":"T/S-76_a"}
{"Action":"fail","Test":"T"}
{"Action":"fail"}`, []string{"S-76"}, "",
		},
		"a panic in one of two that run side by side": {
			`{"Action":"run","Test":"T/S-01_a"}
{"Action":"pass","Test":"T/S-01_a"}
{"Action":"run","Test":"T/S-02_b"}
{"Action":"pause","Test":"T/S-02_b"}
{"Action":"run","Test":"T/S-03_FR-09_c"}
{"Action":"output","Output":"panic: at the disco"}
{"Action":"fail"}`, []string{"FR-09", "S-03"}, "",
		},
		"all is well": {
			`{"Action":"run","Test":"T/S-01_a"}
{"Action":"pass","Test":"T/S-01_a"}
{"Action":"pass"}`, nil, "",
		},
		"only a test without a number fails": {
			`{"Action":"run","Test":"T/S-01_a"}
{"Action":"pass","Test":"T/S-01_a"}
{"Action":"run","Test":"T/other"}
{"Action":"fail","Test":"T/other"}
{"Action":"fail"}`, nil, "",
		},
		"no test ran":             {`{"Action":"pass"}`, nil, "the package has no numbered case"},
		"it fails outside a test": {`{"Action":"run","Test":"T/S-01"}` + "\n" + `{"Action":"pass","Test":"T/S-01"}` + "\n" + `{"Action":"fail"}`, nil, "the package fails, and none of its tests does"},
	} {
		t.Run(name, func(t *testing.T) {
			red, err := readEvents(strings.NewReader(c.events))
			if !slices.Equal(red, c.red) || (err == nil) != (c.err == "") || err != nil && err.Error() != c.err {
				t.Errorf("got %v, %v; want %v, %q", red, err, c.red, c.err)
			}
		})
	}
}
