package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// outcome says what came of a guest that ended with err at an instant (SPEC 15.3). The order is: ended from outside,
// stopped by the host, what the guest itself said, how it ended.
func (r *run) outcome(err error, now time.Time) jobhost.Outcome {
	r.flush()
	out := r.verdict(err, now)
	out.Digest = r.module.digest
	out.Fuel = r.meter.read()
	out.PeakMemory = r.memory.peak
	out.Message = r.clean([]byte(out.Message), abi.MaxMessage)
	output := orDefault(r.output, &r.stdout)
	text, whole := output.text()
	if !whole {
		r.call.Sink.Log(abi.Warn, fmt.Sprintf("output of %d bytes was cut to %d, its head and its tail; max_output is %s",
			output.total, len(text), size(uint64(r.grant.MaxOutput)))) //nolint:gosec // not negative
	}
	out.Output = text
	r.spans.end(out.Code == "")
	return out
}

func (r *run) verdict(err error, now time.Time) jobhost.Outcome {
	if r.ended(now) {
		return r.fromOutside()
	}
	out := r.judge(err)
	if out.Code != "" {
		out.Message = r.withRemarks(out.Message)
	}
	if out.Code != "" && r.stopping() {
		// A failure after the request to stop is the answer to it, and is not retried.
		return jobhost.Outcome{Code: jobhost.Canceled, Message: "cancelled; the plugin answered: " + out.Message}
	}
	return out
}

// fromOutside is the outcome of a run whose context or deadline ended. A guest that came back with success after that
// is no exception.
func (r *run) fromOutside() jobhost.Outcome {
	cause := context.Cause(r.ctx)
	switch code := jobhost.CodeOf(cause); {
	case code != "":
		e, _ := errors.AsType[*jobhost.Error](cause)
		return jobhost.Outcome{Code: code, Message: e.Msg}
	case cause == nil, errors.Is(cause, context.DeadlineExceeded):
		return jobhost.Outcome{Code: jobhost.TimedOut, Message: "the run exceeded its time limit"}
	default:
		return jobhost.Outcome{Code: jobhost.Canceled, Message: "the run was ended: " + cause.Error()}
	}
}

// judge is the outcome of a guest that ended by itself, or by what it did.
func (r *run) judge(err error) jobhost.Outcome {
	var (
		exit     *sys.ExitError
		trap     *trapError
		returned *returnedError
		secret   *secretError
	)
	limit := errors.As(err, &trap) && trap.limit
	switch {
	case limit:
		return r.unexpected(trap.kind)
	case r.failure != nil:
		return r.failed()
	case err == nil:
		return jobhost.Outcome{}
	case errors.As(err, &exit):
		permanent := exit.ExitCode() == abi.ExitPermanent
		if said := r.stderr.message(); said != "" {
			return jobhost.Outcome{Code: jobhost.Unexpected, Message: said, Permanent: permanent}
		}
		out := r.unexpected(fmt.Sprintf("exited with code %d", exit.ExitCode()))
		out.Permanent = permanent
		return out
	case errors.As(err, &secret):
		return jobhost.Outcome{Code: jobhost.Unexpected, Message: secret.Error()}
	case errors.As(err, &returned):
		return r.unexpected(r.withStderr(returned.Error()))
	default:
		return r.trapped(err)
	}
}

// failed is the failure that the guest reported. Codes of the host's own family are not the guest's to give: an engine
// that reads one would take the run for cancelled or timed out.
func (r *run) failed() jobhost.Outcome {
	f := r.failure
	out := jobhost.Outcome{Code: jobhost.Code(f.code), Message: f.message, Permanent: f.permanent}
	if strings.TrimSpace(f.code) == "" || strings.HasPrefix(f.code, reserved) {
		out.Code = jobhost.Unexpected
	}
	if out.Message == "" {
		out.Message = "the plugin failed without a message"
	}
	return out
}

const reserved = "SCHEDULING_"

// trapped is the outcome of a trap or of an error on the host's side. The guest's stack goes into the log.
func (r *run) trapped(err error) jobhost.Outcome {
	kind, stack, _ := strings.Cut(err.Error(), "\nwasm stack trace:\n\t")
	kind = strings.TrimSuffix(kind, " (recovered by wazero)")
	if i := strings.LastIndex(kind, wasmError); i >= 0 {
		kind = "trap: " + kind[i+len(wasmError):]
	}
	_, ours := errors.AsType[runtime.Error](err)
	switch {
	case ours && r.memory.refused > 0 && r.memory.peak == 0: // what the runtime does when there is no memory to begin with
		r.host.short.Do(func() {
			r.host.log.WarnContext(r.ctx, "the memory of plugins is used up, so that runs fail; raise max_total_memory, or let fewer run at the same time",
				slog.String("limit", size(r.memory.total.limit)))
		})
		return r.unexpected("the run could not begin")
	case ours:
		kind = "host panic: " + kind
		r.host.log.ErrorContext(r.ctx, "a host function panicked", slog.String("plugin", r.call.Plugin),
			slog.String("run", string(r.call.Run.ID)), slog.String("panic", briefText(err.Error())))
	}
	if strings.TrimPrefix(kind, "trap: ") == "stack overflow" {
		kind = stackOverflow // the runtime's own limit was met first, as when it interprets
	}
	if stack != "" {
		r.call.Sink.Log(abi.Error, string(cut([]byte(kind+"\n"+stack), abi.MaxLine/2)))
	}
	return r.unexpected(r.withStderr(kind))
}

// wasmError is how wazero begins the text of a trap. Its type cannot be named.
const wasmError = "wasm error: "

// withStderr adds to how a guest ended what it said last.
func (r *run) withStderr(how string) string {
	if said := r.stderr.message(); said != "" {
		return how + "; stderr: " + said
	}
	return how
}

// outOfMemory begins the message of a failure that refused memory explains.
const outOfMemory = "out of memory: "

// withRemarks adds to a failure's message what the host refused the guest, as far as the message does not say it: the guest
// knows an error number at most.
func (r *run) withRemarks(message string) string {
	var add string
	if m := &r.memory; m.refused > 0 && !strings.HasPrefix(message, outOfMemory) {
		if add = "; it reached max_memory " + size(m.limit); m.short {
			add = "; the host had no more memory for plugins"
		}
	}
	if denied := sortedKeys(r.remarks.denied); len(denied) > 0 {
		const most = 3
		add += "; the host denied: " + strings.Join(denied[:min(len(denied), most)], ", ")
		if more := len(denied) - most; more > 0 {
			add += fmt.Sprintf(" and %d more", more)
		}
	}
	add = string(cut([]byte(add), abi.MaxMessage/2))
	return string(cut([]byte(message), abi.MaxMessage-len(add))) + add
}

// unexpected is a failure without a code of the guest's own. Memory that was refused explains most of them.
func (r *run) unexpected(message string) jobhost.Outcome {
	switch m := &r.memory; {
	case m.refused == 0:
	case m.short:
		message = fmt.Sprintf(outOfMemory+"the host has no more for plugins (asked for %s; all runs together may have %s); %s",
			size(m.refused), size(m.total.limit), message)
	default:
		message = fmt.Sprintf(outOfMemory+"asked for %s, the limit is %s; %s", size(m.refused), size(m.limit), message)
	}
	return jobhost.Outcome{Code: jobhost.Unexpected, Message: message}
}

// size writes a number of bytes for people.
func size(n uint64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
