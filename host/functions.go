package host

import (
	"slices"
	"time"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost/abi"
)

const (
	i32 = api.ValueTypeI32
	i64 = api.ValueTypeI64
)

// hostFunction is a function of the run that called it.
type hostFunction struct {
	name            string
	params, results []api.ValueType
	call            func(r *run, m api.Module, stack []uint64)
}

// i32s are the types of n parameters or results that are i32.
func i32s(n int) []api.ValueType { return slices.Repeat([]api.ValueType{i32}, n) }

// hostFunctions is module jobhost_v1 (ABI 3). The run's end is checked before and after each of them.
var hostFunctions = slices.Concat(runFunctions, valueFunctions, webFunctions, spanFunctions)

// runFunctions need no grant.
var runFunctions = []hostFunction{
	{abi.FuncRun, i32s(2), i32s(1), func(r *run, m api.Module, s []uint64) { fill(m, s, r.document) }},
	{abi.FuncInput, i32s(2), i32s(1), func(r *run, m api.Module, s []uint64) { fill(m, s, r.input) }},
	{abi.FuncOutput, i32s(2), nil, setOutput},
	{abi.FuncFail, i32s(5), nil, fail},
	{abi.FuncLog, i32s(3), nil, logLine},
	{abi.FuncProgress, []api.ValueType{i64, i64, i32, i32}, nil, progress},
	{abi.FuncCancelled, nil, i32s(1), func(r *run, _ api.Module, s []uint64) { s[0] = flag(r.stopping()) }},
	{abi.FuncDeadlineMS, nil, []api.ValueType{i64}, deadlineMS},
	{abi.FuncSleepMS, []api.ValueType{i64}, i32s(1), sleepMS},
}

// fill answers a function (buf, cap) -> i32: the length of data, which is copied if it fits.
func fill(m api.Module, s []uint64, data []byte) {
	buf, size := api.DecodeU32(s[0]), api.DecodeU32(s[1])
	if uint64(size) >= uint64(len(data)) && !m.Memory().Write(buf, data) {
		s[0] = errno(abi.BadArgument)
		return
	}
	s[0] = uint64(len(data))
}

func errno(e abi.Errno) uint64 { return api.EncodeI32(int32(e)) }

func flag(on bool) uint64 {
	if on {
		return 1
	}
	return 0
}

// text returns at most limit bytes of a guest's text, as valid UTF-8 and without secrets. A pointer outside memory ends the
// run.
func (r *run) text(m api.Module, function string, ptr, size uint64, limit int) string {
	view, ok := m.Memory().Read(api.DecodeU32(ptr), api.DecodeU32(size))
	if !ok {
		panic(outsideMemory(function))
	}
	return r.clean(view, limit)
}

func outsideMemory(function string) error {
	return &trapError{kind: "pointer outside memory in a call of " + abi.Module + "." + function}
}

// clean makes text of a guest's bytes, as text does.
func (r *run) clean(view []byte, limit int) string {
	view = valid(r.mask.mask(cut(view, limit+r.mask.reach())))
	return string(cut(view, limit))
}

// setOutput keeps the head and the tail of what is too long, as for stdout.
func setOutput(r *run, m api.Module, s []uint64) {
	view, ok := m.Memory().Read(api.DecodeU32(s[0]), api.DecodeU32(s[1]))
	if !ok {
		panic(outsideMemory(abi.FuncOutput))
	}
	out := &capture{max: r.grant.MaxOutput}
	f := maskFilter{masker: r.mask}
	r.pass(view, &f, out.add)
	out.add(f.end(nil))
	r.output = out
}

// failure is what a guest says that went wrong.
type failure struct {
	code, message string
	permanent     bool
}

func fail(r *run, m api.Module, s []uint64) {
	r.failure = &failure{
		code:      r.text(m, abi.FuncFail, s[0], s[1], abi.MaxCode),
		message:   r.text(m, abi.FuncFail, s[2], s[3], abi.MaxMessage),
		permanent: api.DecodeU32(s[4]) != 0,
	}
}

func logLine(r *run, m api.Module, s []uint64) {
	r.call.Sink.Log(int(api.DecodeI32(s[0])), r.text(m, abi.FuncLog, s[1], s[2], abi.MaxLine))
}

// progress tells how far the run is. Numbers below zero are none.
func progress(r *run, m api.Module, s []uint64) {
	done, total := max(int64(s[0]), 0), max(int64(s[1]), 0) //nolint:gosec // signed parameters
	r.call.Sink.Progress(done, total, r.text(m, abi.FuncProgress, s[2], s[3], abi.MaxProgress))
}

func deadlineMS(r *run, _ api.Module, s []uint64) {
	if r.until.IsZero() {
		s[0] = api.EncodeI64(-1)
		return
	}
	s[0] = api.EncodeI64(max(0, time.Until(r.until).Milliseconds()))
}

func sleepMS(r *run, _ api.Module, s []uint64) {
	const longest = int64(1<<63-1) / int64(time.Millisecond)
	if !r.wait(time.Duration(min(max(int64(s[0]), 0), longest))*time.Millisecond, r.call.Stop) { //nolint:gosec // a signed parameter
		s[0] = errno(abi.Ending)
		return
	}
	s[0] = 0
}
