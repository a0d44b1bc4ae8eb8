package api_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/jobhost/jobhost/api"
)

// An outline is what a decoder of JSON makes of a body, or a refusal. Only what stands under "data" is another thing.
func FuzzAnOutlineIsTheDecodedBody(f *testing.F) {
	for _, seed := range []string{
		`{"plugin":"p","triggers":[{"name":"t","schedule":"every 1m","priority":1e2}]}`, `[[],{},null,true,"a\u0000\ud800"]`,
		`{"a":1,"a":{"b":2}}`, `1e999`, `{"a":`, `[1 2]`, `{"a":1}}`, "\"\xff\"", ` `, `{"Data":[1],"x":0}`, strings.Repeat("[", 30),
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, err := api.Outline(body)
		var want any
		wrong := json.Unmarshal(body, &want)
		switch {
		case wrong != nil && err == nil:
			t.Errorf("%q is taken, though it is wrong: %v", body, wrong)
		case wrong == nil && err != nil && len(body) < 40:
			t.Errorf("%q is refused, though it is right and has no bound to pass: %v", body, err)
		case err == nil && !strings.Contains(strings.ToLower(string(body)), "data") && !strings.Contains(string(body), `\u`):
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%q (-got +want):\n%s", body, diff)
			}
		}
	})
}
