package instrument_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/jobhost/jobhost/host/instrument"
)

// specSets are the parts of the WebAssembly specification's tests whose features are supported, as wazero's module
// carries them, each with the features that it is run with.
var specSets = []struct {
	dir      string
	features api.CoreFeatures
}{
	{"v1", api.CoreFeaturesV1},
	{"v2", api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall},
	{"tail-call", api.CoreFeaturesV2 | experimental.CoreFeaturesTailCall},
	{"extended-const", api.CoreFeaturesV2 | experimental.CoreFeaturesExtendedConst},
}

// specStack is small, so that tests of exhaustion end soon.
const specStack = 1 << 22

// specVariants are the ways in which modules are instrumented for the tests. The first ones are tried always.
var specVariants = []struct {
	name string
	cfg  instrument.Config
}{
	{"all with a period of 1", instrument.Config{Period: 1, Stack: specStack}},
	{"all with a period of 100, an image and late tables", instrument.Config{Period: 100, Stack: specStack, Image: 1, Late: 1}},
	{"all", instrument.Config{Stack: specStack}},
	{"meter", instrument.Config{Skip: instrument.Stack | instrument.Tables | instrument.Merge}},
	{"stack", instrument.Config{Stack: specStack, Skip: instrument.Meter | instrument.Tables | instrument.Merge}},
	{"tables and data", instrument.Config{Skip: instrument.Meter | instrument.Stack}},
	{"check only", instrument.Config{Skip: instrument.Meter | instrument.Stack | instrument.Tables | instrument.Merge}},
}

// TestSpecificationTestsEndTheSameWay runs the specification's tests as they are and instrumented. By default it runs the
// first two variants on the compiler; with JOBHOST_SPEC=all it runs every variant on both engines.
func TestSpecificationTestsEndTheSameWay(t *testing.T) {
	root := specRoot(t)
	variants, chosen := specVariants[:2], []string{"compiler"}
	if os.Getenv("JOBHOST_SPEC") == "all" {
		variants, chosen = specVariants, append(chosen, "interpreter")
	}
	t.Logf("%d of %d variants on %v; JOBHOST_SPEC=all runs all", len(variants), len(specVariants), chosen)
	for _, set := range specSets {
		files, err := filepath.Glob(filepath.Join(root, set.dir, "testdata", "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", set.dir, err)
		}
		for _, engine := range chosen {
			cfg := engines[engine]().WithCoreFeatures(set.features)
			t.Run(set.dir+"/"+engine, func(t *testing.T) {
				t.Parallel()
				commands := 0
				for _, file := range files {
					s := newScript(t, root, file)
					want := s.run(cfg, nil)
					checkPlain(t, filepath.Base(file), want)
					commands += len(want)
					for _, v := range variants {
						if !set.features.IsEnabled(experimental.CoreFeaturesTailCall) {
							v.cfg.Late = 0
						}
						got := s.run(cfg, func(b []byte) (instrument.Result, error) { return instrument.Instrument(b, v.cfg) })
						compare(t, v.name, filepath.Base(file), got, want)
					}
				}
				t.Logf("%d commands", commands)
			})
		}
	}
}

// checkPlain makes sure that the modules as they are end as the tests want, else comparing with them says nothing.
func checkPlain(t *testing.T, file string, plain []outcome) {
	t.Helper()
	for _, o := range plain {
		kind, _, _ := strings.Cut(o.what, " ")
		want := map[string]string{
			"module": "ok", "assert_return": "returned", "action": "returned", "assert_trap": "trap: ",
			"assert_exhaustion": "trap: stack overflow", "assert_invalid": "error", "assert_malformed": "error",
		}[kind]
		if !strings.HasPrefix(o.result, want) && !strings.HasPrefix(o.result, "value ") && o.result != "text" {
			t.Errorf("%s:%d %s: %s without instrumentation (%v)", file, o.line, o.what, o.result, o.err)
		}
	}
}

// compare reports the commands that ended in another way.
func compare(t *testing.T, variant, file string, got, want []outcome) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s %s: %d outcomes, want %d", variant, file, len(got), len(want))
	}
	for i := range got {
		if got[i].result != want[i].result {
			t.Errorf("%s %s:%d %s: %s, want %s (%v)",
				variant, file, got[i].line, got[i].what, got[i].result, want[i].result, got[i].err)
		}
	}
}

func specRoot(t *testing.T) string {
	t.Helper()
	return filepath.Join(wazeroDir(t), "internal", "integration_test", "spectest")
}

// wazeroDir is where wazero's module lies.
func wazeroDir(t *testing.T) string {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/tetratelabs/wazero").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(dir))
}

// script is one file of tests.
type script struct {
	t        *testing.T
	root     string
	dir      string
	commands []command
	read     func(name string) []byte
}

type command struct {
	Type, Name, Filename, As string
	Line                     int
	ModuleType               string `json:"module_type"`
	Action                   struct {
		Type, Field, Module string
		Args                []value
	}
}

type value struct {
	Type  string
	Lane  string `json:"lane_type"`
	Value any
}

// outcome is what one command led to.
type outcome struct {
	line         int
	what, result string
	err          error
}

func newScript(t *testing.T, root, file string) *script {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := &script{t: t, root: root, dir: filepath.Dir(file)}
	if err := json.Unmarshal(b, s); err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	s.read = func(name string) []byte {
		if files[name] == nil {
			if files[name], err = os.ReadFile(name); err != nil {
				t.Fatal(err)
			}
		}
		return files[name]
	}
	return s
}

// UnmarshalJSON reads the commands.
func (s *script) UnmarshalJSON(b []byte) error {
	var file struct{ Commands []command }
	err := json.Unmarshal(b, &file)
	s.commands = file.Commands
	return err
}

// specRun is one run of a script.
type specRun struct {
	*script
	runtime wazero.Runtime
	rewrite func([]byte) (instrument.Result, error)
	named   map[string]api.Module
	last    api.Module
}

// run runs the script, with its modules rewritten if rewrite is not nil.
func (s *script) run(cfg wazero.RuntimeConfig, rewrite func([]byte) (instrument.Result, error)) []outcome {
	s.t.Helper()
	r := &specRun{script: s, rewrite: rewrite, named: map[string]api.Module{}}
	var release func()
	r.runtime, release = newRuntime(s.t, cfg)
	defer release()
	if rewrite != nil {
		if err := provideTick(s.t.Context(), r.runtime, endOnOverflow); err != nil {
			s.t.Fatal(err)
		}
	}
	spectest := s.read(filepath.Join(s.root, "testdata", "spectest.wasm"))
	if _, err := r.runtime.InstantiateWithConfig(r.t.Context(), spectest, wazero.NewModuleConfig()); err != nil {
		s.t.Fatal(err)
	}
	var out []outcome
	for i := range s.commands {
		c := &s.commands[i]
		result, err := r.do(c, i)
		out = append(out, outcome{c.Line, c.Type + " " + c.Action.Field, cmp.Or(result, outcomeOf(err)), err})
	}
	return out
}

func (r *specRun) do(c *command, i int) (string, error) {
	switch c.Type {
	case "module":
		name := ""
		if next := i + 1; next < len(r.commands) && r.commands[next].Type == "register" {
			name = r.commands[next].As
		}
		m, err := r.load(c, name)
		r.last = m
		if c.Name != "" {
			r.named[c.Name] = m
		}
		return "", err
	case "register":
		return "nothing to do", nil
	case "assert_return", "action", "assert_trap", "assert_exhaustion":
		return r.act(c)
	case "assert_malformed", "assert_invalid", "assert_unlinkable", "assert_uninstantiable":
		if c.ModuleType == "text" {
			return "text", nil
		}
		_, err := r.load(c, "")
		return "", err
	}
	r.t.Fatalf("%s:%d: unknown command %q", r.dir, c.Line, c.Type)
	return "", nil
}

func (r *specRun) load(c *command, name string) (api.Module, error) {
	ctx, b := r.t.Context(), r.read(filepath.Join(r.dir, c.Filename))
	if r.rewrite != nil {
		out, err := r.rewrite(b)
		if err != nil {
			return nil, err
		}
		ctx, b = withImage(ctx, out.Image), out.Module
	}
	return r.runtime.InstantiateWithConfig(ctx, b, wazero.NewModuleConfig().WithName(name).WithStartFunctions())
}

func (r *specRun) act(c *command) (string, error) {
	m := r.last
	if c.Action.Module != "" {
		m = r.named[c.Action.Module]
	}
	if m == nil {
		return "no module", nil
	}
	if c.Action.Type == "get" {
		return fmt.Sprint("value ", m.ExportedGlobal(c.Action.Field).Get()), nil
	}
	var args []uint64
	for _, a := range c.Action.Args {
		args = append(args, a.encode()...)
	}
	f := m.ExportedFunction(c.Action.Field)
	resetStack(m, specStack)
	results, err := f.Call(r.t.Context(), args...)
	if err != nil {
		return "", err
	}
	for i, typ := range f.Definition().ResultTypes() {
		if typ == 0x70 && results[i] != 0 {
			results[i] = 1 // a function's address
		}
	}
	return fmt.Sprint("returned ", results), nil
}

// encode is the value as wazero passes it.
func (v value) encode() []uint64 {
	switch text, _ := v.Value.(string); v.Type {
	case "v128":
		width := map[string]int{"i8": 8, "i16": 16, "i32": 32, "f32": 32, "i64": 64, "f64": 64}[v.Lane]
		var out [2]uint64
		for i, lane := range v.Value.([]any) {
			out[i*width/64] |= number(lane.(string), width) << (i * width % 64)
		}
		return out[:]
	case "externref", "funcref":
		if text == "null" {
			return []uint64{0}
		}
		return []uint64{number(text, 64) + 1} // 0 is null
	case "i32", "f32":
		return []uint64{number(text, 32)}
	default:
		return []uint64{number(text, 64)}
	}
}

// number reads the bits of a number of so many bits.
func number(s string, width int) uint64 {
	switch {
	case strings.HasPrefix(s, "nan") && width == 32:
		return 0x7fc00000
	case strings.HasPrefix(s, "nan"):
		return 0x7ff8000000000000
	case strings.HasPrefix(s, "-"):
		v, _ := strconv.ParseInt(s, 10, 64)
		return uint64(v) & (1<<width - 1)
	}
	v, _ := strconv.ParseUint(s, 10, 64)
	return v
}
