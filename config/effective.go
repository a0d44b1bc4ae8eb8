package config

import (
	"fmt"
	"strings"
)

// Socket is the path of the API's socket that the sources give, for a program that only wants to ask a running host. What
// else is wrong with the sources does not matter; its error is [Problems] with what keeps the path from being known, and
// then the path is the one that the rest gives.
func Socket(src Sources) (string, error) {
	top := topKeys()
	r := newReader(top.list(""))
	d := draft{Settings: Defaults(), dir: src.Dir, at: map[string]value{}}
	d.DataDir = inDir(src.Dir, d.DataDir)
	d.Store.Path, d.HTTP.Socket = "", ""
	d.readFiles(r, top, src.Files)
	d.readEnviron(r, top, src.Environ)
	d.derive()
	var about Problems
	for _, p := range r.problems {
		switch p.Key {
		case "", "data_dir", "http", "http.socket": // an empty key is that of a file as a whole
			about = append(about, p)
		}
	}
	if len(about) == 0 {
		return d.HTTP.Socket, nil
	}
	sortProblems(about, src.Files)
	return d.HTTP.Socket, about
}

// Entry is a setting as it is in force. Of a list or a mapping that the sources give, Value says how much is in it.
type Entry struct {
	Key    string `json:"key"`    // such as scheduler.poll_interval
	Value  string `json:"value"`  // as it could be written
	Source string `json:"source"` // "default", a place in a file, or a variable behind a dollar sign
}

// sourceDefault is the source of a setting that no file and no variable gives.
const sourceDefault = "default"

// Effective lists every setting with its value and where that comes from, in the order of the reference. The sources must
// be good; else the error is that of [Load].
func Effective(src Sources) ([]Entry, error) {
	s, err := Load(src)
	if err != nil {
		return nil, err
	}
	top := topKeys()
	given := map[string]Entry{}
	r := newReader(top.list(""))
	d := draft{Settings: Defaults(), dir: src.Dir, at: map[string]value{}}
	recording := top.recording(given)
	d.readFiles(r, recording, src.Files)
	d.readEnviron(r, recording, src.Environ)
	follow := map[string]string{"store.path": s.Store.Path, "http.socket": s.HTTP.Socket}
	var entries []Entry
	for _, row := range top.list("") {
		if row.later || row.hasBelow && row.kind == anObject.name || strings.Contains(row.path, "[]") {
			continue
		}
		e, ok := given[row.path]
		if !ok {
			e = Entry{row.path, row.def, sourceDefault}
			if path, ok := follow[row.path]; ok {
				e.Value = path
			} else if row.kind == aList.name || row.kind == anObject.name {
				e.Value = "none"
			}
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// recording is the table with the same keys, which notes what is read and where.
func (t table[T]) recording(into map[string]Entry) table[T] {
	out := make(table[T], len(t))
	for i, f := range t {
		if f.sub != nil {
			f.sub = f.sub.recording(into)
		} else if !f.later {
			f.read = func(_ *T, v value) { note(into, v, f.kind) }
		}
		out[i] = f
	}
	return out
}

func note(into map[string]Entry, v value, k kind) {
	e := Entry{Key: v.key, Source: v.pos.String()}
	switch k {
	case aList, anObject:
		n := len(v.node.Content)
		if k == anObject {
			n /= 2
		}
		if before, ok := into[v.key]; ok { // what several files give is joined
			e.Source = before.Source + ", " + e.Source
			var m int
			_, _ = fmt.Sscanf(before.Value, "%d", &m) // it is written below
			n += m
		}
		e.Value = fmt.Sprintf("%d given", n)
	default:
		e.Value, _, _ = v.scalar() // it has been read before without a problem
	}
	into[v.key] = e
}
