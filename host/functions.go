package host

import (
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

// hostFunctions is module jobhost_v1 (ABI 3). The run's end is checked before and after each of them.
var hostFunctions = []hostFunction{
	{abi.FuncRun, []api.ValueType{i32, i32}, []api.ValueType{i32}, func(r *run, m api.Module, s []uint64) { fill(m, s, r.document) }},
	{abi.FuncInput, []api.ValueType{i32, i32}, []api.ValueType{i32}, func(r *run, m api.Module, s []uint64) { fill(m, s, r.input) }},
	{abi.FuncOutput, []api.ValueType{i32, i32}, nil, setOutput},
	{abi.FuncFail, []api.ValueType{i32, i32, i32, i32, i32}, nil, fail},
	{abi.FuncLog, []api.ValueType{i32, i32, i32}, nil, logLine},
	{abi.FuncCancelled, nil, []api.ValueType{i32}, func(r *run, _ api.Module, s []uint64) { s[0] = flag(r.stopping()) }},
	{abi.FuncDeadlineMS, nil, []api.ValueType{i64}, deadlineMS},
	{abi.FuncSleepMS, []api.ValueType{i64}, []api.ValueType{i32}, sleepMS},
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

// text returns at most limit bytes of a guest's text, as valid UTF-8. A pointer outside memory ends the run.
func text(m api.Module, function string, ptr, size uint64, limit int) []byte {
	view, ok := m.Memory().Read(api.DecodeU32(ptr), api.DecodeU32(size))
	if !ok {
		panic(&trapError{kind: "pointer outside memory in a call of " + abi.Module + "." + function})
	}
	view = valid(append([]byte{}, cut(view, limit)...))
	return cut(view, limit) // replacement characters may have made it longer again
}

func setOutput(r *run, m api.Module, s []uint64) {
	r.output = text(m, abi.FuncOutput, s[0], s[1], r.grant.MaxOutput)
	r.outputSet = true
	r.outputCut = 0
	if n := uint64(api.DecodeU32(s[1])); n > uint64(r.grant.MaxOutput) { //nolint:gosec // not negative
		r.outputCut = n
	}
}

// failure is what a guest says that went wrong.
type failure struct {
	code, message string
	permanent     bool
}

func fail(r *run, m api.Module, s []uint64) {
	r.failure = &failure{
		code:      string(text(m, abi.FuncFail, s[0], s[1], abi.MaxCode)),
		message:   string(text(m, abi.FuncFail, s[2], s[3], abi.MaxMessage)),
		permanent: api.DecodeU32(s[4]) != 0,
	}
}

func logLine(r *run, m api.Module, s []uint64) {
	r.call.Sink.Log(int(api.DecodeI32(s[0])), string(text(m, abi.FuncLog, s[1], s[2], abi.MaxLine)))
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
