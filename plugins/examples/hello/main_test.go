package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func env(key string) string {
	return map[string]string{
		"JOBHOST_JOB": "hello.world", "JOBHOST_ATTEMPT": "1", "JOBHOST_SCHEDULED_AT": "2026-03-01T06:00:00Z",
	}[key]
}

func TestRunGreetsWhomTheDataNames(t *testing.T) {
	for _, c := range []struct{ name, data, want string }{
		{"a name", `{"name":" Ada "}`, "Hello, Ada!"},
		{"no name", `{}`, "Hello, world!"},
		{"no data at all", ``, "Hello, world!"},
		{"fields it does not know", `{"name":"Ada","colour":"red"}`, "Hello, Ada!"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out, log bytes.Buffer
			if err := run(strings.NewReader(c.data), &out, &log, env); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(out.String(), `{"greeting":"`+c.want+`","job":"hello.world","attempt":"1"}`+"\n"); diff != "" {
				t.Errorf("result (-got +want):\n%s", diff)
			}
			if diff := cmp.Diff(log.String(), c.want+" I was due at 2026-03-01T06:00:00Z.\n"); diff != "" {
				t.Errorf("log (-got +want):\n%s", diff)
			}
		})
	}
}

func TestRunRefusesDataOfTheWrongShape(t *testing.T) {
	for _, data := range []string{`{"name":5}`, `[]`, `{`} {
		var out bytes.Buffer
		if err := run(strings.NewReader(data), &out, &bytes.Buffer{}, env); !errors.Is(err, errData) {
			t.Errorf("data %s: error %v, want one that is errData", data, err)
		}
		if out.Len() > 0 {
			t.Errorf("data %s: result %q, want none", data, &out)
		}
	}
}
