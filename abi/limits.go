package abi

// Limits in bytes. Text over its limit is cut at a whole character; data over its limit is refused.
const (
	MaxCode       = 128       // a guest's own failure code
	MaxMessage    = 4 << 10   // a failure's message
	MaxLine       = 8 << 10   // one log entry
	MaxLog        = 256 << 10 // the log of a run that is kept, by default: the first quarter and the last three
	MaxOutput     = 64 << 10  // the output of a run, by default
	MaxOutputEver = 1 << 20   // the most that an output may be allowed
	MaxInput      = 1 << 20   // the merged data
	MaxMemory     = 256 << 20 // a guest's memory, by default
	MaxModule     = 64 << 20  // a module's file
	MaxPath       = 4 << 10   // a path in a WASI call
)

// Limits in numbers.
const (
	MaxOpenFiles     = 128   // files and directories that a run has open
	MaxSubscriptions = 1_024 // subscriptions of one WASI poll_oneoff
)

// MaxChunk is the most bytes that one read or write of a file moves. A guest that asks for more is served in part.
const MaxChunk = 1 << 20

// PageSize is the unit of a guest's memory.
const PageSize = 64 << 10
