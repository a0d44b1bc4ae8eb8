package host

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero/api"
	wasi "github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"

	"github.com/jobhost/jobhost/abi"
	"github.com/jobhost/jobhost/host/internal/wasmfile"
)

// parse reads what a module says about itself. Its errors say what to do.
func parse(bin []byte) (*wasmfile.File, error) {
	f, err := wasmfile.Parse(bin)
	switch {
	case errors.Is(err, wasmfile.ErrNotWasm):
		return nil, fmt.Errorf("%w; is this the compiled .wasm file?", err)
	case errors.Is(err, wasmfile.ErrCutOff):
		return nil, fmt.Errorf("%w; copy it again, to another name first, and then rename it", err)
	case errors.Is(err, wasmfile.ErrComponent):
		return nil, fmt.Errorf("%w; build a core module, for example for wasip1", err)
	case err != nil:
		return nil, err
	}
	return f, nil
}

// kindOf says how a module is called; empty if it cannot be.
func kindOf(f *wasmfile.File) string {
	switch {
	case exported(f, abi.ExportRun) != nil:
		return abi.Reactor
	case exported(f, abi.ExportStart) != nil:
		return abi.Command
	}
	return ""
}

func exported(f *wasmfile.File, name string) *wasmfile.Export {
	i := slices.IndexFunc(f.Exports, func(e wasmfile.Export) bool { return e.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Exports[i]
}

// problems lists everything that keeps a module from being loaded, each with its mend (ABI 7). What it imports comes first:
// of a module that was built for another world, the rest only follows from that.
func (h *Host) problems(f *wasmfile.File, maxMemory uint64) []string {
	return slices.Concat(h.importProblems(f), entryProblems(f), memoryProblems(f, maxMemory))
}

func entryProblems(f *wasmfile.File) (ps []string) {
	if kindOf(f) == "" {
		return []string{fmt.Sprintf("exports neither %s nor %s; "+
			"Go: -buildmode=c-shared and //go:wasmexport %s, or an ordinary main; C: -mexec-model=reactor and export_name(%q), or an ordinary main",
			abi.ExportStart, abi.ExportRun, abi.ExportRun, abi.ExportRun)}
	}
	none := wasmfile.FuncType{}
	result := wasmfile.FuncType{Results: []wasmfile.ValueType{wasmfile.I32}}
	for name, want := range map[string]wasmfile.FuncType{abi.ExportRun: result, abi.ExportInitialize: none, abi.ExportStart: none} {
		e := exported(f, name)
		switch {
		case e == nil:
		case e.Kind != wasmfile.Func:
			ps = append(ps, fmt.Sprintf("%s is a %s; want a function %s", name, e.Kind, want))
		case !sameType(e.Type, want):
			ps = append(ps, fmt.Sprintf("%s is %s; want %s", name, typeText(e.Type), want))
		}
	}
	slices.Sort(ps)
	return ps
}

func memoryProblems(f *wasmfile.File, most uint64) (ps []string) {
	if len(f.Memories) == 0 {
		return []string{"has no memory; a guest needs one, exported as memory"}
	}
	if len(f.Memories) > 1 {
		return []string{fmt.Sprintf("has %d memories; one is supported", len(f.Memories))}
	}
	switch m := f.Memories[0]; {
	case m.Imported:
		ps = append(ps, "imports its memory; link it so that it has its own, without --import-memory")
	case m.Shared:
		ps = append(ps, "has a shared memory; build it without threads")
	case m.Wide:
		ps = append(ps, "has a 64-bit memory; build it for wasm32")
	case m.Min > most/abi.PageSize:
		ps = append(ps, fmt.Sprintf("needs %s of memory to start, the limit is %s; raise max_memory", size(m.Min*abi.PageSize), size(most)))
	}
	if e := exported(f, abi.ExportMemory); e == nil || e.Kind != wasmfile.Memory {
		ps = append(ps, "does not export its memory; export it as memory")
	}
	return ps
}

// importProblems names every import that the host does not have, or has with another type.
func (h *Host) importProblems(f *wasmfile.File) (ps []string) {
	hints := map[string]bool{}
	var unknown []string
	others := 0 // imports of another type that are not listed
	for _, i := range f.Imports {
		name := i.Module + "." + i.Name
		want, known := h.known[name]
		switch {
		case i.Kind == wasmfile.Memory:
			continue // said above
		case !known || i.Kind != wasmfile.Func:
			name = shown(name)
			if i.Kind != wasmfile.Func {
				name += " (a " + i.Kind.String() + ")"
			}
			unknown = append(unknown, name)
			hints[hint(i.Module)] = true
		case sameType(i.Type, want):
		case len(ps) == maxListed:
			others++
		default:
			ps = append(ps, fmt.Sprintf("imports %s as %s; it is %s", name, typeText(i.Type), want))
		}
	}
	if others > 0 {
		ps = append(ps, fmt.Sprintf("%d more imports have another type than the host's", others))
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		unknown = slices.Compact(unknown)
		list := "imports what the host does not have: " + listed(unknown)
		said := append(sortedKeys(hints), list)
		if hints[anyImport] {
			said = append(slices.DeleteFunc(said, func(s string) bool { return s == anyImport }), anyImport)
		}
		ps = append(ps, strings.Join(said, "; "))
	}
	return ps
}

// sameType reports whether two functions have the same signature.
func sameType(a, b wasmfile.FuncType) bool {
	return slices.Equal(a.Params, b.Params) && slices.Equal(a.Results, b.Results)
}

// typeText is a signature that a module chose, as far as it is repeated.
func typeText(t wasmfile.FuncType) string {
	more := max(0, len(t.Params)-maxType) + max(0, len(t.Results)-maxType)
	if more == 0 {
		return t.String()
	}
	t.Params, t.Results = t.Params[:min(len(t.Params), maxType)], t.Results[:min(len(t.Results), maxType)]
	return fmt.Sprintf("%s and %d more", t, more)
}

// hint says how a module with imports from another world should be built.
func hint(module string) string {
	is := func(names ...string) bool { return slices.Contains(names, module) }
	switch {
	case is("gojs", "go"):
		return "it was built with GOOS=js: build it with GOOS=wasip1 GOARCH=wasm"
	case is("wbg") || strings.HasPrefix(module, "__wbindgen"):
		return "it was made for wasm-bindgen: build it for wasm32-wasip1, without wasm-bindgen"
	case is("env"):
		return "env is Emscripten, or symbols that were not linked: build it for WASI (wasm32-wasip1)"
	case is("wasi_unstable"):
		return "wasi_unstable is an old WASI: build it for WASI preview 1 (wasm32-wasip1)"
	case is(wasi.ModuleName):
		return "that is not part of WASI preview 1"
	case strings.HasPrefix(module, "wasi:"):
		return "it was built for WASI preview 2: build a core module for preview 1 (wasm32-wasip1)"
	case strings.HasPrefix(module, "extism:"):
		return "it is an Extism plugin: use " + abi.Module + " or plain WASI in place of its kit"
	case strings.HasPrefix(module, abi.ModulePrefix):
		return "it needs a newer jobhost"
	}
	return anyImport
}

// anyImport is the hint where nothing is known about a module that is imported.
const anyImport = "a guest may import " + abi.Module + " and " + wasi.ModuleName

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// signature is the type of a host function as a module would declare it.
func signature(params, results []api.ValueType) wasmfile.FuncType {
	convert := func(ts []api.ValueType) (out []wasmfile.ValueType) {
		for _, t := range ts {
			out = append(out, wasmfile.ValueType(t))
		}
		return out
	}
	return wasmfile.FuncType{Params: convert(params), Results: convert(results)}
}
