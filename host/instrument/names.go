package instrument

import (
	"fmt"
	"strings"
)

// names are what is kept of a module's name section.
type names struct {
	module    string
	functions map[uint32]string
}

// readCustom returns the names, and the custom sections that are written again. Those of debug information tell places
// in the code, all of which have moved, so that they would make traces name wrong lines; they are left out.
func (m *module) readCustom(custom []section) (n names, kept []section) {
	for _, s := range custom {
		r := reader{b: m.bin[:s.end], at: s.start, fn: -1}
		switch name := r.name(); {
		case r.err != nil:
			kept = append(kept, s) // for the runtime to refuse
		case name == "name":
			n = m.readNames(r)
		case !strings.HasPrefix(name, ".debug_"):
			kept = append(kept, s)
		}
	}
	return n, kept
}

// readNames reads a name section. It is never trusted: when anything is wrong with it there are no names.
func (m *module) readNames(r reader) names {
	n := names{functions: map[uint32]string{}}
	last := -1
	for !r.done() {
		id := r.byte()
		part := r.sub(r.u32())
		if int(id) <= last {
			return names{}
		}
		last = int(id)
		switch id {
		case 0:
			n.module = short(part.name())
		case 1:
			for range part.count("names", 2, maxFunctions) {
				fn := part.index("function", m.functions())
				n.functions[fn] = short(part.name())
			}
		default:
			continue // locals, labels and the like have moved or are of no use in a trace
		}
		if part.result() != nil {
			return names{}
		}
	}
	if r.err != nil {
		return names{}
	}
	return n
}

// maxName bounds a name in bytes. A trace has a name for each of its frames, and the runtime writes it in the host's memory.
const maxName = 500

// short cuts a name. Names of generic code are long, those of no compiler are longer than this one by much.
func short(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.ToValidUTF8(name[:maxName], "") + "…"
}

// write returns the name section's content. Every function of the module has a name in it: one without gets the number
// by which a trace would have called it, had no function been added.
func (n names) write(m *module) []byte {
	out := text(nil, "name")
	if n.module != "" {
		out = nameSection(out, 0, text(nil, n.module))
	}
	count, imported := m.functions()+len(m.added.funcs), len(m.imported)
	if m.hooked() {
		count++
	}
	b := uleb(nil, uint32(count))
	add := func(i uint32, name string) { b = text(uleb(b, i), name) }
	for i := range uint32(m.functions() + 1) {
		if int(i) == imported && m.hooked() {
			add(m.tick(), TickModule+"."+TickFunction)
		}
		if int(i) == m.functions() {
			break
		}
		name, ok := n.functions[i]
		if !ok {
			name = fmt.Sprintf("$%d", i)
		}
		add(m.moved(i), name)
	}
	for i, f := range m.added.funcs {
		add(uint32(m.functions()+1+i), f.name)
	}
	return nameSection(out, 1, b)
}

func nameSection(out []byte, id byte, content []byte) []byte {
	return append(uleb(append(out, id), uint32(len(content))), content...)
}
