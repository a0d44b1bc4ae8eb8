package host

import (
	"github.com/jobhost/jobhost/abi"
)

// maxRemarks bounds what the host itself adds to the log of one run. A guest that repeats a call which is refused must not
// push its own lines out of its log.
const maxRemarks = 32

// remarks are the lines that the host has added to a run's log.
type remarks struct {
	said   map[string]bool
	denied map[string]bool
}

// remark adds a warning of the host to the run's log, each text once.
func (r *run) remark(text string) {
	if r.remarks.said[text] || len(r.remarks.said) >= maxRemarks {
		return
	}
	if r.remarks.said == nil {
		r.remarks.said = map[string]bool{}
	}
	r.remarks.said[text] = true
	r.call.Sink.Log(abi.Warn, string(cut(valid([]byte(text)), abi.MaxLine)))
}

// denied tells in the run's log that something was not granted: one line for each capability, whatever was asked of it.
func (r *run) denied(capability, text string) {
	if r.remarks.denied[capability] || len(r.remarks.denied) >= maxRemarks {
		return
	}
	if r.remarks.denied == nil {
		r.remarks.denied = map[string]bool{}
	}
	r.remarks.denied[capability] = true
	r.remark("capability_denied: " + text)
}
