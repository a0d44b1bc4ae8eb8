package config

import (
	"fmt"
	"strings"
)

// Reference is the list of all keys in Markdown: type, default, range, meaning and environment variable. docs/config.md is
// its output.
func Reference() string {
	top := topKeys()
	rows := top.list("")
	known := map[string]setting{}
	settings(top, "", known)
	variables := map[string]string{}
	for name, s := range known {
		variables[s.key] = name
	}

	var order []string // of mappings, as they come
	tables := map[string]string{}
	var later strings.Builder
	for _, r := range rows {
		mapping, key := "", r.path
		if i := strings.LastIndexByte(r.path, '.'); i >= 0 {
			mapping, key = r.path[:i], r.path[i+1:]
		}
		switch {
		case r.later:
			fmt.Fprintf(&later, "| `%s` | %s |\n", r.path, r.help)
			continue
		case r.hasBelow && mapping == "":
			continue // it gets a heading of its own
		}
		if tables[mapping] == "" {
			order = append(order, mapping)
			tables[mapping] = tableHead(mapping, rows)
		}
		tables[mapping] += r.line(key, variables[r.path])
	}
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, mapping := range order {
		b.WriteString(tables[mapping])
	}
	b.WriteString("\n## Not available yet\n\nThese keys are refused.\n\n| key | meanwhile |\n| --- | --- |\n" + later.String())
	return b.String()
}

// line is a key in the table of its mapping.
func (r row) line(key, variable string) string {
	def, kind, help := code(r.def), r.kind, r.help
	if r.required {
		def = "required"
	}
	switch {
	case kind == aChoice.name:
		kind = r.limits
	case r.limits != "":
		kind += ", " + r.limits
	}
	if variable != "" {
		help += "<br>`" + variable + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", key, kind, def, help)
}

// tableHead begins the table of one mapping.
func tableHead(section string, rows []row) string {
	const columns = "| key | type and range | default | meaning |\n| --- | --- | --- | --- |\n"
	if section == "" {
		return "\n## At the top\n\n" + columns
	}
	help := ""
	for _, r := range rows {
		if r.path == strings.TrimSuffix(section, "[]") {
			help = upper(r.help) + ".\n\n"
		}
	}
	return fmt.Sprintf("\n## `%s`\n\n%s%s", section, help, columns)
}

// code shows a value; words are not values.
func code(s string) string {
	switch {
	case s == "":
		return ""
	case strings.Contains(s, " "):
		return s
	default:
		return "`" + s + "`"
	}
}

func upper(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

const referenceHead = `<!-- Written by: go test ./config -run Reference -update -->
# Configuration

jobhost reads one YAML file, several, or all in a directory. [jobhost.yaml](../jobhost.yaml) is one to start from. Every
problem is reported at once, a line each, with file, line, column, key, value and what would be right.

**Several files** add up: ` + "`jobs`, `grants`, `calendars` and `vars`" + ` are joined, and a name that is defined twice is an error that
names both places. Any other setting may stand in one file only.

**Environment variables** override files. A variable's name is JOBHOST_, the section, two underscores and the key, in
capitals: ` + "`JOBHOST_SCHEDULER__POLL_INTERVAL=5s`" + `; for a key at the top nothing stands before the two underscores:
` + "`JOBHOST__DATA_DIR`" + `. A variable with two underscores that fits no key is an error. Lists and mappings have no variable.

**Durations** are Go durations: ` + "`90s`, `1h30m`" + `. There is no day unit; seven days are ` + "`168h`" + `. **Sizes** have one of the units
B, KiB, MiB, GiB, TiB: ` + "`256MiB`" + `. **Relative paths** start at the working directory.

**Text** is quoted where YAML would read it as something else: numbers, true and false, dates. Inside ` + "`{…}` and `[…]`" + ` quote a
schedule that holds a comma. Dates in ` + "`calendars[].dates`" + ` need no quotes.

**Replacements.** Any string may hold ` + "`${name:-default}`" + `: the variable of that name in the section ` + "`vars`" + `, or the default where it is
unset or empty. ` + "`${name}`" + ` without a value is an error. ` + "`$${`" + ` is a plain ` + "`${`" + `. Nothing else is read, in particular not
the environment.

**Bounds.** A file has at most 4 MiB, all files 16 MiB. Values are nested at most 64 levels deep. Anchors, aliases and the merge
key ` + "`<<`" + ` work as long as what they stand for stays within 16 MiB.
`
