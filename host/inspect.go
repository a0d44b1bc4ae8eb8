package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host/internal/wasmfile"
)

// Inspection is what a module's file says about itself, before anything is granted.
type Inspection struct {
	File      string   `json:"file"`
	Size      int64    `json:"size"`           // bytes
	Digest    string   `json:"digest"`         // SHA-256, in hexadecimal
	Kind      string   `json:"kind,omitempty"` // "command" or "reactor"
	Language  string   `json:"language,omitempty"`
	MinMemory uint64   `json:"minMemory"`           // bytes that it starts with
	MaxMemory uint64   `json:"maxMemory,omitempty"` // bytes that it asks for at most; 0 if it does not say
	Functions int      `json:"functions"`           // that it defines
	Imports   []Symbol `json:"imports"`
	Exports   []Symbol `json:"exports"`
	Uses      []string `json:"uses"`               // what it could use, in plain words
	Sections  []string `json:"sections,omitempty"` // its custom sections
	Problems  []string `json:"problems,omitempty"` // why it would not be loaded, each with its mend
}

// Symbol is an import or an export.
type Symbol struct {
	Module string `json:"module,omitempty"` // of an import
	Name   string `json:"name"`
	Kind   string `json:"kind"`           // "func", "memory", "table", "global"
	Type   string `json:"type,omitempty"` // of a function, such as "(i32, i32) -> (i32)"
}

// Inspect reads a module's file without loading it. Names that the module chose are cut to 80 characters, signatures to 16
// parameters and results, and lists to 1,000 entries, after which one says how many there are. It does not compile, so a module without problems may still be
// refused by the runtime. The error is for a file that cannot be read or is no core module at all.
func (h *Host) Inspect(file string) (Inspection, error) {
	bin, digest, _, err := readModule(file, false)
	if err != nil {
		return Inspection{}, fmt.Errorf("%s: %w", file, err)
	}
	f, err := parse(bin)
	if err != nil {
		return Inspection{}, fmt.Errorf("%s: %w", file, err)
	}
	i := Inspection{
		File: file, Size: int64(len(bin)), Digest: digest, Kind: kindOf(f), Language: language(f),
		Functions: f.Functions, Imports: []Symbol{}, Exports: []Symbol{}, Uses: uses(f),
		Problems: h.problems(f, h.mostMemory()),
	}
	if len(f.Memories) > 0 {
		i.MinMemory, i.MaxMemory = f.Memories[0].Min*abi.PageSize, f.Memories[0].Max*abi.PageSize
	}
	for _, m := range f.Imports[:min(len(f.Imports), maxSymbols)] {
		i.Imports = append(i.Imports, symbol(m.Module, m.Name, m.Kind, m.Type))
	}
	for _, e := range f.Exports[:min(len(f.Exports), maxSymbols)] {
		i.Exports = append(i.Exports, symbol("", e.Name, e.Kind, e.Type))
	}
	i.Imports, i.Exports = andMore(i.Imports, len(f.Imports)), andMore(i.Exports, len(f.Exports))
	for _, c := range f.Customs {
		i.Sections = append(i.Sections, shown(c.Name))
	}
	if _, err := meterModule(bin); err != nil {
		i.Problems = append(i.Problems, briefText(err.Error()))
	}
	return i, nil
}

// maxSymbols bounds the lists of an inspection.
const maxSymbols = 1_000

// andMore says, as the last of a list of symbols, how many are not in it.
func andMore(list []Symbol, all int) []Symbol {
	if more := all - len(list); more > 0 {
		list = append(list, Symbol{Name: fmt.Sprintf("… and %d more", more)})
	}
	return list
}

func symbol(module, name string, kind wasmfile.Kind, t wasmfile.FuncType) Symbol {
	s := Symbol{Module: shown(module), Name: shown(name), Kind: kind.String()}
	if kind == wasmfile.Func {
		s.Type = typeText(t)
	}
	return s
}

// abilities says what an import lets a guest do. The first match counts.
var abilities = []struct{ prefix, use string }{
	{"wasi_snapshot_preview1.path_", "files in granted directories"},
	{"wasi_snapshot_preview1.sock_", "sockets (none are given)"},
	{"wasi_snapshot_preview1.clock_", "clock"},
	{"wasi_snapshot_preview1.random_", "random numbers"},
	{"wasi_snapshot_preview1.poll_oneoff", "sleep"},
	{"wasi_snapshot_preview1.environ_", "environment variables"},
	{"wasi_snapshot_preview1.args_", "arguments"},
	{"wasi_snapshot_preview1.fd_", "standard streams"},
	{abi.Module + "." + abi.FuncSleepMS, "sleep"},
	{abi.Module + "." + abi.FuncLog, "log"},
	{abi.Module + "." + abi.FuncOutput, "output"},
	{abi.Module + "." + abi.FuncInput, "input data"},
	{abi.Module + "." + abi.FuncProgress, "progress"},
	{abi.Module + ".kv_", "durable values of its job"},
	{abi.Module + ".http_", "HTTP requests to granted hosts"},
	{abi.Module + ".span_", "spans of the run's trace"},
	{abi.Module + "." + abi.FuncEvent, "spans of the run's trace"},
	{abi.Module + "." + abi.FuncRun, "facts of the run"},
}

// uses lists what a module could use, by its imports.
func uses(f *wasmfile.File) []string {
	out := []string{}
	for _, i := range f.Imports {
		for _, a := range abilities {
			if strings.HasPrefix(i.Module+"."+i.Name, a.prefix) {
				if !slices.Contains(out, a.use) {
					out = append(out, a.use)
				}
				break
			}
		}
	}
	slices.Sort(out)
	return out
}

// language guesses what a module was written in, from its producers section or from an import that gives it away.
func language(f *wasmfile.File) string {
	for _, c := range f.Customs {
		if c.Name == "producers" {
			if ls := wasmfile.Producers(c.Data)["language"]; len(ls) > 0 {
				return shown(strings.Join(ls[:min(len(ls), maxListed)], ", "))
			}
		}
	}
	for _, i := range f.Imports {
		if i.Module == "env" && i.Name == "abort" {
			return "AssemblyScript"
		}
	}
	return ""
}
