package host

import (
	"encoding/binary"
	"maps"
	"slices"
	"strconv"

	"github.com/tetratelabs/wazero/api"

	"github.com/jobhost/jobhost/abi"
)

// environ is what the guest sees of its environment, made when it first asks: NAME=value, each with a NUL behind it. wazero
// would copy what is known of a module's surroundings for each variable, whether a guest asks or not.
func (r *run) environ() [][]byte {
	if r.variables != nil {
		return r.variables
	}
	place := map[string]int{}
	set := func(name, value string) {
		at, known := place[name]
		if !known {
			at = len(r.variables)
			place[name] = at
			r.variables = append(r.variables, nil)
		}
		r.variables[at] = []byte(name + "=" + value + "\x00")
	}
	for _, e := range r.environment() {
		set(e[0], e[1])
	}
	for _, k := range slices.Sorted(maps.Keys(r.grant.Env)) {
		set(k, r.grant.Env[k])
	}
	for _, e := range r.secrets {
		set(e[0], e[1])
	}
	return r.variables
}

// environment is what the host itself tells each guest (ABI 1).
func (r *run) environment() [][2]string {
	run := r.call.Run
	return [][2]string{
		{abi.EnvJob, run.Job},
		{abi.EnvTrigger, run.Trigger},
		{abi.EnvRunID, string(run.ID)},
		{abi.EnvKind, run.Kind.String()},
		{abi.EnvAttempt, strconv.Itoa(run.Attempt)},
		{abi.EnvRetryOf, string(run.RetryOf)},
		{abi.EnvScheduledAt, abi.FormatTime(run.ScheduledAt)},
		{abi.EnvDeadline, abi.FormatTime(r.call.Deadline)},
		{abi.EnvNode, run.Node},
		{abi.EnvTraceparent, r.call.Traceparent},
	}
}

// environSizesGet answers how many variables there are, and how many bytes they have.
func environSizesGet(r *run, m api.Module, s []uint64) {
	all, size := r.environ(), 0
	for _, v := range all {
		size += len(v)
	}
	mem := m.Memory()
	if mem.WriteUint32Le(api.DecodeU32(s[0]), uint32(len(all))) && mem.WriteUint32Le(api.DecodeU32(s[1]), uint32(size)) { //nolint:gosec // bounded by the grant
		s[0] = wasiSuccess
	} else {
		s[0] = wasiFault
	}
}

// environGet writes where each variable begins, and the variables one behind the other.
func environGet(r *run, m api.Module, s []uint64) {
	at := api.DecodeU32(s[1])
	var starts, text []byte
	for _, v := range r.environ() {
		starts = binary.LittleEndian.AppendUint32(starts, at+uint32(len(text))) //nolint:gosec // bounded by the grant
		text = append(text, v...)
	}
	_, fits := m.Memory().Read(at, uint32(len(text))) //nolint:gosec // the same
	if fits && m.Memory().Write(api.DecodeU32(s[0]), starts) {
		m.Memory().Write(at, text)
		s[0] = wasiSuccess
	} else {
		s[0] = wasiFault
	}
}
