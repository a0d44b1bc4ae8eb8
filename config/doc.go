// Package config turns YAML files and environment variables into typed settings, or into a list of everything that is
// wrong with them.
//
// [Load] takes [Sources] and returns [Settings] or an error that is [Problems]: each a line with file, line, column, key,
// the value and what would be right. It reports all of them at once, and what is only suspicious in
// [Settings.Warnings]. [ReadFiles] reads what Load takes, and [Reference] lists every key; docs/config.md is its
// output.
//
// [ReadManifest] reads what a plugin says about itself, and Load joins it with the files: jobs, defaults, and a schema that
// data is held against. docs/manifest.md is the output of [ManifestReference].
//
// One table says for each key its name, type, default, range and meaning. It drives the reading, the check for unknown
// keys, the names of environment variables and the reference, so that none of them can forget a key.
//
// What bites:
//
//   - Files add up. Jobs, grants, calendars and variables of several files are joined; a single setting may stand in one
//     file only. Nothing overwrites anything silently, except that the environment overrides files.
//   - Only variables with a double underscore are keys: JOBHOST_SCHEDULER__POLL_INTERVAL, and JOBHOST__DATA_DIR for one at
//     the top. An empty variable is a value, and mostly a wrong one.
//   - Relative paths start at [Sources.Dir], not at the file that names them.
//   - A string may hold ${name:-default}, which reads the section vars and nothing else; $${ is a plain ${. What was
//     replaced is text: a number or a duration is read from it where a key wants one, but in data it stays a string.
//   - A wrong manifest is a problem only where a job of the files needs its plugin; a manifest whose jobs do not go together
//     with the files always is.
//   - The author of a schema is not trusted. Every part of one charges a meter before it is applied, since the library knows
//     no bounds.
//   - Aliases and merge keys work, within bounds: see [MaxFile].
//
// Why not koanf for merging? Its layers are maps of plain values, so that the place of a value is lost when it is
// loaded; a later layer replaces a list and an equal key, where here lists are joined and equal keys are errors that name both
// places; and its paths split on a separator, while names here contain dots. What would be left for it is a look-up of
// environment variables, which the table of keys does in a loop.
//
// Why go.yaml.in/yaml? It keeps line and column of every node and of syntax errors, leaves duplicate keys and aliases
// to the caller, reads in linear time, and limits nesting while it reads. The other parser with a syntax tree,
// goccy/go-yaml, needed gigabytes for 200 kB of opening brackets and over 20 seconds for a mapping of 200,000 keys.
package config
