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

	tables, later := tablesOf(rows, variables)
	return referenceHead + tables + "\n## Not available yet\n\nThese keys are refused.\n\n| key | meanwhile |\n| --- | --- |\n" + later
}

// ManifestReference is the same for the manifests of plugins. docs/manifest.md is its output.
func ManifestReference() string {
	tables, _ := tablesOf(manifestKeys().list(""), nil)
	return manifestHead + tables
}

// tablesOf writes a table for each mapping, and lists the keys that are refused.
func tablesOf(rows []row, variables map[string]string) (text, refused string) {
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
	for _, mapping := range order {
		b.WriteString(tables[mapping])
	}
	return b.String(), later.String()
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
names both places. Any other setting may stand in one file only. Plugins may bring jobs and defaults of their own: see [manifest.md](manifest.md).

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

const manifestHead = `<!-- Written by: go test ./config -run Reference -update -->
# Manifests of plugins

A plugin may say what it is: in a custom section of its module that is called ` + "`jobhost`" + ` and holds JSON, or in a YAML file beside
it: ` + "`report.yaml`" + ` for ` + "`report.wasm`" + `. The file replaces the section as a whole, so that whoever installs a plugin has the last word.
` + "`jobhost plugin manifest set`" + ` puts a section into a module, and ` + "`jobhost plugin manifest show`" + ` says what comes of it.

` + "```yaml" + `
key: report
version: "1.4"
description: Sums of the shop's orders
schema:
  type: object
  properties:
    format: {enum: [md, html]}
    top: {type: integer, minimum: 1}
  required: [format]
  additionalProperties: false
timeout: 30s
retry: {max_retries: 3, delay: 10s}
jobs:
  - name: report.daily
    schedule: ${report.schedule:-cron 0 6 * * *}
    data: {format: md}
wants:
  - {grant: dirs, what: "/data, to read", why: the orders}
` + "```" + `

**It is a default and a request.** Its jobs count as definitions of files, like those of the configuration, and a job goes when its
plugin goes. ` + "`timeout` and `retry`" + ` hold for each job of the plugin that does not say its own; ` + "`timeout: none` and `retry: none`" + ` in the
configuration opt out. Nothing is granted by it: ` + "`wants`" + ` is shown to the operator, who may write it into the section ` + "`grants`" + ` of
the configuration, with the job's name and the plugin's key.

**The configuration wins.** Where a manifest does not go together with it, no job of that manifest is taken, everything else goes on,
and the log, ` + "`jobhost validate` and `jobhost doctor`" + ` say why: a job has the name of one of the configuration, or of another plugin's;
the section ` + "`grants`" + ` has the name for another plugin; a variable or a calendar is missing; the data does not fit the schema; the
module cannot be loaded. So a file that somebody puts into the plugin folder stops neither a start nor a reload. The jobs of a
manifest give way to others: their priority is at most the default, they have a time limit, and they keep a limited history.
To have a job otherwise, define it in the configuration.

**The key** is the file's name without .wasm, or what the manifest says. A file that is named after a key always has it, before any
that only claims it. Of two files that claim one key neither has it, unless one had it before. A key that a file has had, or that
two have claimed, goes to no other file that only claims it until the host is started again, not even when the first is deleted: a
file that is being replaced is gone for a moment, and what is granted to a plugin is granted to its key. So give a plugin that is
granted something a file that is named after its key.

**Variables.** Text may hold ` + "`${name:-default}`" + `, as in the configuration: the operator sets it in the section ` + "`vars`" + `. So a plugin can
bring a schedule that the operator replaces. A job that needs a variable that is not set is not taken, nor are the others of its
manifest. The key and the schema hold none.

**The schema** is checked when a job is defined, against the data of each of its triggers; for a job without triggers, against
its own data, in which only keys at the top may be missing. It is checked again before each run: a request with data that does
not fit is refused, and a run whose data does not fit any more fails, is not retried, and does not start the plugin. Formats are
not checked, patterns are those of RE2, and ` + "`$ref`" + ` stays within the schema. What a check may cost is bounded.

**A manifest that is wrong** is refused with file, line, key, value and what would be right, and the plugin with it: the version that
runs stays. It stops a start only if a job of the configuration needs the plugin. A file that others may write is wrong, too,
and so is one that is a symbolic link out of the plugin folder.

**Bounds.** A manifest has at most 256 KiB, nested at most 64 levels deep, and at most 1,000 jobs; a schema has at most 5,000 values,
and its patterns take at most 100,000 instructions in all once their repetitions are written out.
`
