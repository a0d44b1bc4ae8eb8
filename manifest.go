package jobhost

import (
	"context"
	"encoding/json"
	"time"
)

// Where a plugin's manifest is, and how large it may be (ABI 4).
const (
	ManifestSection   = "jobhost" // name of the custom section, which holds JSON
	ManifestExtension = ".yaml"   // of the file beside the module, in place of .wasm; it replaces the section
	MaxManifest       = 256 << 10 // bytes
)

// ManifestText is what a module brings as its manifest, before it is read.
type ManifestText struct {
	Plugin Name   // the key that the plugin has unless its manifest says otherwise: the file's name without .wasm
	File   string // the module
	Name   string // where the text is from, as messages show it
	JSON   bool   // it is the JSON of a section and no YAML
	Data   []byte // nil: there is no manifest
	Err    error  // why it could not be read; then Data is nil. It does not name the file
}

// Manifest is what a plugin says about itself (ABI 4). It is a default and a request: the operator's configuration wins,
// and nothing is granted by it.
type Manifest struct {
	Key         Name
	Description string
	Version     string
	Schema      json.RawMessage // JSON Schema of a run's merged data; empty: any data will do
	Data        DataSchema      // checks by Schema; nil: any data will do
	Timeout     time.Duration   // of its jobs that do not say their own; 0: none
	Retry       *RetryPolicy    // the same; nil: none
	Jobs        []JobDef        // each of this plugin
	Wants       []Want
}

// Want is something that a plugin would like to be granted. It is shown to the operator, who may grant it or not.
type Want struct {
	Grant string `json:"grant"`          // a key of the configuration's grants, such as dirs
	What  string `json:"what,omitempty"` // such as "/data, to read"
	Why   string `json:"why,omitempty"`
}

// DataSchema says which data a plugin takes. It is safe for concurrent use.
type DataSchema interface {
	// Check reports the first thing that is wrong with the data of a run, a JSON object or empty: by its JSON pointer, its
	// value and the rule, lower case, without the plugin's name. With whole false something may still be laid over the data,
	// so that what is only missing is no fault. The work is bounded, and ends with ctx, whose error passes through.
	Check(ctx context.Context, data json.RawMessage, whole bool) error
}

// DataChecker is a [Runner] that knows which data its plugins take.
type DataChecker interface {
	// CheckData reports why a plugin would refuse the data of a run, as [DataSchema.Check] does. A plugin that is unknown, or
	// takes any data, refuses none.
	CheckData(ctx context.Context, plugin Name, data json.RawMessage, whole bool) error
	// WithSchema lists the plugins that refuse some data; about others nobody need ask.
	WithSchema() []Name
}
