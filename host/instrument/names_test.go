package instrument_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/jobhost/jobhost/host/instrument"
	w "github.com/jobhost/jobhost/host/internal/wasmtest"
)

// trapping is a module that traps three calls deep, with such name sections.
func trapping(sections ...[]byte) []byte {
	m := w.New()
	m.ImportFunc("env", "id", "i32 -> i32")
	m.Memory(1, 1)
	trap := m.Func("i32 ->", "", w.Op(w.LocalGet, 0), w.I32Const(0), w.I32Const(0), w.Bulk(w.MemoryFill, 0))
	middle := m.Func("i32 ->", "", w.Op(w.LocalGet, 0), w.Op(w.Call, 0), w.Op(w.Call, trap))
	m.Export("run", w.KindFunc, m.Func("->", "", w.I32Const(-1), w.Op(w.Call, middle)))
	for _, s := range sections {
		m.Custom("name", s)
	}
	return m.Bytes()
}

// functionNames is a subsection of names by index.
func functionNames(names ...string) []byte {
	b := w.U32(uint32(len(names)))
	for i, n := range names {
		if n != "" {
			b = append(append(b, w.U32(uint32(i))...), w.Text(n)...)
		}
	}
	return w.Section(1, b)
}

func TestTracesStayRight(t *testing.T) {
	module := w.Section(0, w.Text("greeter"))
	all := functionNames("id", "bottom", "middle", "top")
	some := w.Section(1, slices.Concat(w.U32(1), w.U32(2), w.Text("between")))
	for name, section := range map[string][]byte{
		"no names":   nil,
		"all names":  slices.Concat(module, all),
		"some names": slices.Concat(module, some, w.Section(2, w.U32(0))),
		"no module":  all,
	} {
		t.Run(name, func(t *testing.T) {
			bin := trapping(section)
			if section == nil {
				bin = trapping()
			}
			var traces []string
			for _, g := range []*guest{
				startPlain(t, bin, wazero.NewRuntimeConfigCompiler()), start(t, bin, instrument.Config{}),
			} {
				_, err := g.call("run")
				if err == nil {
					t.Fatal("it did not trap")
				}
				traces = append(traces, err.Error())
			}
			if diff := cmp.Diff(traces[0], traces[1]); diff != "" {
				t.Errorf("the trace differs (-as it was +instrumented):\n%s", diff)
			}
		})
	}
}

func TestTicksCanBeToldInATrace(t *testing.T) {
	g := start(t, emptyLoop(), instrument.Config{})
	g.limit = 1
	_, err := g.call("run")
	if err == nil || !strings.Contains(err.Error(), ".jobhost.refill(") || !strings.Contains(err.Error(), ".$0(") {
		t.Errorf("got %v, want a trace with jobhost.refill below $0", err)
	}
}

func TestBadNamesAreDropped(t *testing.T) {
	huge := w.Section(1, w.U32(1<<32-1))
	for name, sections := range map[string][][]byte{
		"a count beyond the end":      {huge},
		"a function that is not":      {w.Section(1, slices.Concat(w.U32(1), w.U32(99), w.Text("x")))},
		"text that is not UTF-8":      {functionNames("\xff")},
		"a length beyond the end":     {w.Section(0, w.U32(1<<20))},
		"a subsection beyond the end": {slices.Concat([]byte{1}, w.U32(1000))},
		"locals beyond the end":       {w.Section(2, w.U32(1<<32-1))},
		"subsections in disorder":     {slices.Concat(functionNames("x"), w.Section(0, w.Text("late")))},
		"bytes left over":             {w.Section(0, append(w.Text("m"), 0))},
		"two sections":                {functionNames("a"), functionNames("b")},
	} {
		t.Run(name, func(t *testing.T) {
			g := start(t, trapping(sections...), instrument.Config{})
			if _, err := g.call("run"); outcomeOf(err) != "trap: out of bounds memory access" {
				t.Errorf("got %v, want the guest's own trap", err)
			}
		})
	}
}

func TestOtherCustomSectionsStay(t *testing.T) {
	m := w.New()
	m.Custom("jobhost", []byte(`{"key":"a"}`))
	m.Custom(".debug_line", []byte("not true any more"))
	m.Custom("producers", []byte{0})
	r, err := instrument.Instrument(m.Bytes(), instrument.Config{})
	if err != nil {
		t.Fatal(err)
	}
	rt, _ := newRuntime(t, wazero.NewRuntimeConfigInterpreter().WithCustomSections(true))
	compiled, err := rt.CompileModule(t.Context(), r.Module)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range compiled.CustomSections() {
		got = append(got, s.Name())
		if s.Name() == "jobhost" && !bytes.Equal(s.Data(), []byte(`{"key":"a"}`)) {
			t.Errorf("the manifest is %q", s.Data())
		}
	}
	if want := []string{"jobhost", "producers"}; !slices.Equal(got, want) {
		t.Errorf("custom sections are %q, want %q", got, want)
	}
}
