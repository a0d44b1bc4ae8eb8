package abi

// Limits in bytes. Text over its limit is cut at a whole character; data over its limit is refused.
const (
	MaxCode       = 128       // a guest's own failure code
	MaxMessage    = 4 << 10   // a failure's message
	MaxLine       = 8 << 10   // one log entry
	MaxProgress   = 1 << 10   // what a run says about how far it is
	MaxLog        = 256 << 10 // the log of a run that is kept, by default: the first quarter and the last three
	MaxOutput     = 64 << 10  // the output of a run, by default
	MaxOutputEver = 1 << 20   // the most that an output may be allowed
	MaxInput      = 1 << 20   // the merged data
	MaxMemory     = 256 << 20 // a guest's memory, by default
	MaxModule     = 64 << 20  // a module's file
	MaxPath       = 4 << 10   // a path in a WASI call
	MaxKey        = 256       // a key of a durable value
	MaxValue      = 64 << 10  // a durable value
	MaxValues     = 1 << 20   // the keys and values of a job
	MaxHTTPHead   = 64 << 10  // the head of a request, and of a response
	MaxHTTPBody   = 8 << 20   // the body of a request
	MaxSpanText   = 256       // the name of a span or an event, the key of an attribute
	MaxSpanValue  = 4 << 10   // the value of an attribute
	MaxSpanBytes  = 256 << 10 // the attributes and events of a run's spans; more are dropped
)

// Limits in numbers.
const (
	MaxOpenFiles     = 128   // files and directories that a run has open
	MaxSubscriptions = 1_024 // subscriptions of one WASI poll_oneoff
	MaxVectors       = 1_024 // pieces (iovecs) of one read or write
	MaxResponses     = 16    // responses that a run has open
	MaxSpans         = 128   // spans of a run
)

// MaxChunk is the most bytes that one read or write of a file moves. A guest that asks for more is served in part.
const MaxChunk = 1 << 20

// PageSize is the unit of a guest's memory.
const PageSize = 64 << 10
