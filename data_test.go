package jobhost_test

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

func TestMergeData(t *testing.T) {
	for _, tt := range []struct {
		name   string
		layers []string
		want   string
	}{
		{"S-12 merges by top-level key, and null is a value", []string{`{"a":1,"b":{"x":1,"y":2},"c":3}`, `{"b":{"x":9}}`, `{"c":null}`}, `{"a":1,"b":{"x":9},"c":null}`},
		{"no layer is no data", nil, ``},
		{"empty layers are no data", []string{"", ""}, ``},
		{"a single layer stays as it was written", []string{"", "{ \"b\": 1,\n\"a\": 2 }", ""}, "{ \"b\": 1,\n\"a\": 2 }"},
		{"an array is replaced whole", []string{`{"a":[1,2,3]}`, `{"a":[4]}`}, `{"a":[4]}`},
		{"an empty object changes nothing", []string{`{"a":1}`, `{}`}, `{"a":1}`},
		{"keys are told apart by case", []string{`{"key":1}`, `{"Key":2}`}, `{"Key":2,"key":1}`},
		{"numbers keep their digits", []string{`{"a":12345678901234567890.10}`, `{"b":1e400}`}, `{"a":12345678901234567890.10,"b":1e400}`},
		{"markup is not escaped", []string{`{"a":"<b>&</b>"}`, `{"<":1}`}, `{"<":1,"a":"<b>&</b>"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			layers := make([]json.RawMessage, 0, len(tt.layers))
			for _, l := range tt.layers {
				layers = append(layers, json.RawMessage(l))
			}
			got, err := jobhost.MergeData(layers...)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(got), tt.want); diff != "" {
				t.Errorf("merged (-got +want):\n%s", diff)
			}
		})
	}
}

func TestMergeDataRefusesWhatIsNoObject(t *testing.T) {
	for _, l := range []string{"[1]", "{", "1", `{"a":1}x`} {
		if got, err := jobhost.MergeData(json.RawMessage(`{"a":1}`), json.RawMessage(l)); err == nil {
			t.Errorf("merging %s gave %s, want an error", l, got)
		}
	}
}

// A merge is what overwriting keys in order gives, and never has more bytes than its layers.
func TestMergeDataIsOverwriting(t *testing.T) {
	layer := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "<", "é"}), rapid.SampledFrom([]any{nil, true, "x", "<&>", "\u2028", 1.5}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		want, size := map[string]any{}, 0
		var layers []json.RawMessage
		for _, m := range rapid.SliceOfN(layer, 0, 4).Draw(t, "layers") {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(m); err != nil {
				t.Fatal(err)
			}
			layers = append(layers, json.RawMessage(b.String()))
			size += b.Len()
			maps.Copy(want, m)
		}
		merged, err := jobhost.MergeData(layers...)
		if err != nil {
			t.Fatal(err)
		}
		if len(layers) == 0 {
			if merged != nil {
				t.Fatalf("merged nothing to %s", merged)
			}
			return
		}
		got := map[string]any{}
		if err := json.Unmarshal(merged, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(got, want); diff != "" {
			t.Fatalf("merged (-got +want):\n%s", diff)
		}
		if len(merged) > size {
			t.Fatalf("merged has %d bytes, the layers %d", len(merged), size)
		}
	})
}

func TestCheckData(t *testing.T) {
	object := func(size int) string { return `{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}` }
	for _, tt := range []struct{ name, data, want string }{
		{"nothing", "", ""},
		{"an empty object", "{}", ""},
		{"an object with space around", " \n\t{\"a\": 1}\r\n", ""},
		{"the most bytes", object(jobhost.MaxData), ""},
		{"a byte too many", object(jobhost.MaxData + 1), "1048577 bytes, at most 1048576"},
		{"an array", "[1]", "want a JSON object"},
		{"null", "null", "want a JSON object"},
		{"space alone", "  ", "want a JSON object"},
		{"half an object", `{"a":`, "no JSON object"},
		{"two objects", "{}{}", "no JSON object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := jobhost.CheckData(json.RawMessage(tt.data))
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

func TestDataDepth(t *testing.T) {
	for data, want := range map[string]int{
		``: 0, `{}`: 1, `{"a":1}`: 1, `{"a":[],"b":[]}`: 2, `{"a":[{"b":[1]}]}`: 4, `{"a[[[{":"]}{\"[["}`: 1, `{"a":"\\\\","b":[]}`: 2,
	} {
		if got := jobhost.DataDepth(json.RawMessage(data)); got != want {
			t.Errorf("%s has depth %d, want %d", data, got, want)
		}
	}
}

func TestCheckDataRefusesWhatNoReaderCouldRead(t *testing.T) {
	nested := func(depth int) json.RawMessage {
		return json.RawMessage(`{"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`)
	}
	if err := jobhost.CheckData(nested(jobhost.MaxDataDepth)); err != nil {
		t.Error(err)
	}
	for _, depth := range []int{jobhost.MaxDataDepth + 1, 9_998} {
		err := jobhost.CheckData(nested(depth))
		if err == nil || !strings.Contains(err.Error(), "levels deep, at most 100 are allowed") {
			t.Errorf("%d levels: got %v, want a refusal", depth, err)
		}
	}
}
