package host

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/tetratelabs/wazero/api"
	wasi "github.com/tetratelabs/wazero/imports/wasi_snapshot_preview1"
	"github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost/abi"
)

// Error numbers of WASI preview 1 that our own functions answer.
const (
	wasiSuccess     = 0
	wasiBadF        = 8
	wasiFault       = 21
	wasiInval       = 28
	wasiIO          = 29
	wasiNameTooLong = 37
	wasiNoSpace     = 51
	wasiNotSup      = 58
)

// maxFD bounds the numbers that fd_renumber may use: the table of open files grows to the highest of them.
const maxFD = 1_024

// pathLengths says where the functions that take paths have the lengths of them.
var pathLengths = map[string][]int{
	"path_create_directory":   {2},
	"path_filestat_get":       {3},
	"path_filestat_set_times": {3},
	"path_link":               {3, 6},
	"path_open":               {3},
	"path_readlink":           {2},
	"path_remove_directory":   {2},
	"path_rename":             {2, 5},
	"path_symlink":            {1, 4},
	"path_unlink_file":        {2},
}

// vectorCounts says where the functions that take pieces have the number of them.
var vectorCounts = map[string]int{
	"fd_pread": 2, "fd_pwrite": 2, "fd_read": 2, "fd_write": 2, "sock_recv": 2, "sock_send": 2,
}

// fillDisks are the functions that may find no space left.
var fillDisks = map[string]bool{
	"fd_allocate": true, "fd_filestat_set_size": true, "fd_pwrite": true, "fd_write": true, "path_create_directory": true, "path_link": true,
	"path_open": true, "path_rename": true,
}

// wasiFunctions returns WASI preview 1: wazero's functions, with ours in place of or around those that can hurt.
func wasiFunctions() ([]hostFunction, error) {
	stock, err := stockWASI()
	if err != nil {
		return nil, err
	}
	var fs []hostFunction
	for name, f := range stock {
		call := func(r *run, m api.Module, s []uint64) { f.call(r.ctx, m, s) }
		lengths, isPath := pathLengths[name]
		vectors, isVectored := vectorCounts[name]
		switch {
		case isPath:
			inner := call
			call = func(r *run, m api.Module, s []uint64) {
				if len(r.grant.Dirs) == 0 {
					r.denied("dirs", name+": no directory is granted; the grant `dirs` lists them")
				}
				for _, i := range lengths {
					if api.DecodeU32(s[i]) > abi.MaxPath {
						s[0] = wasiNameTooLong
						return
					}
				}
				inner(r, m, s)
			}
		case strings.HasPrefix(name, "path_"):
			return nil, fmt.Errorf("the WASI module of this wazero has a new function %s", name)
		case name == "fd_renumber":
			inner := call
			call = func(r *run, m api.Module, s []uint64) {
				if api.DecodeU32(s[1]) >= maxFD {
					s[0] = wasiBadF
					return
				}
				inner(r, m, s)
			}
		case isVectored:
			inner := call
			writes := strings.HasSuffix(name, "write")
			call = func(r *run, m api.Module, s []uint64) {
				if api.DecodeU32(s[vectors]) > abi.MaxVectors {
					s[0] = wasiInval
					return
				}
				if writes {
					s[vectors] = wholePieces(m.Memory(), api.DecodeU32(s[1]), api.DecodeU32(s[vectors]))
				}
				inner(r, m, s)
			}
		case name == "fd_readdir":
			call = fdReaddir(call)
		case name == "poll_oneoff":
			call = pollOneoff
		case name == "environ_sizes_get":
			call = environSizesGet
		case name == "environ_get":
			call = environGet
		}
		if fillDisks[name] {
			call = orNoSpace(call)
		}
		fs = append(fs, hostFunction{name, f.params, f.results, call})
	}
	return fs, nil
}

// orNoSpace answers that there is no space where that is what wazero, which has no number for it, takes for a broken disk.
func orNoSpace(inner func(*run, api.Module, []uint64)) func(*run, api.Module, []uint64) {
	return func(r *run, m api.Module, s []uint64) {
		r.noSpace = false
		inner(r, m, s)
		if r.noSpace && s[0] == wasiIO {
			s[0] = wasiNoSpace
		}
	}
}

// wholePieces is how many of count pieces can be written by one call: up to the first that is written in part, since wazero
// would go on with the next one all the same.
func wholePieces(mem api.Memory, pieces, count uint32) uint64 {
	for i := range count {
		if n, ok := mem.ReadUint32Le(pieces + 8*i + 4); !ok || n > abi.MaxChunk {
			return uint64(i + 1)
		}
	}
	return uint64(count)
}

// The layout of poll_oneoff: a subscription has 48 bytes, an event 32.
const (
	subscriptionSize = 48
	eventSize        = 32
	eventClock       = 0
	eventFDRead      = 1
	eventFDWrite     = 2
	clockAbsolute    = 1
)

type subscription struct {
	userdata uint64
	kind     byte
	wait     time.Duration
}

// pollOneoff waits for the first of the clocks that are subscribed to. Files and streams are always ready, since no
// read or write of ours waits. Only the run's end interrupts it (ABI 3).
func pollOneoff(r *run, m api.Module, s []uint64) {
	in, out, n, count := api.DecodeU32(s[0]), api.DecodeU32(s[1]), api.DecodeU32(s[2]), api.DecodeU32(s[3])
	if n == 0 || n > abi.MaxSubscriptions {
		s[0] = wasiInval
		return
	}
	mem := m.Memory()
	raw, ok := mem.Read(in, n*subscriptionSize)
	_, ok2 := mem.Read(out, n*eventSize)
	_, ok3 := mem.Read(count, 4)
	if !ok || !ok2 || !ok3 {
		s[0] = wasiFault
		return
	}
	now := r.now()
	wait := time.Duration(math.MaxInt64)
	subs := make([]subscription, n)
	for i := range subs {
		sub, errno := readSubscription(raw[i*subscriptionSize:], now)
		if errno != wasiSuccess {
			s[0] = uint64(errno)
			return
		}
		subs[i] = sub
		wait = min(wait, sub.wait)
	}
	r.wait(wait, nil)
	events := make([]byte, 0, n*eventSize)
	for _, sub := range subs {
		if sub.wait <= wait {
			events = appendEvent(events, sub)
		}
	}
	mem.Write(out, events)
	mem.WriteUint32Le(count, uint32(len(events)/eventSize)) //nolint:gosec // at most abi.MaxSubscriptions
	s[0] = wasiSuccess
}

// readSubscription reads one subscription and says how long it waits from now on; files are ready at once.
func readSubscription(b []byte, now clocks) (subscription, uint32) {
	sub := subscription{userdata: binary.LittleEndian.Uint64(b), kind: b[8]}
	switch sub.kind {
	case eventFDRead, eventFDWrite:
		return sub, wasiSuccess
	case eventClock:
	default:
		return sub, wasiInval
	}
	clock := binary.LittleEndian.Uint32(b[16:])
	nanos := min(binary.LittleEndian.Uint64(b[24:]), math.MaxInt64)
	flags := binary.LittleEndian.Uint16(b[40:])
	switch {
	case flags&^clockAbsolute != 0 || clock > 3:
		return sub, wasiInval
	case flags == 0:
		sub.wait = time.Duration(nanos)
	case clock == 0:
		sub.wait = max(0, time.Duration(nanos)-time.Duration(now.wall))
	case clock == 1:
		sub.wait = max(0, time.Duration(nanos)-time.Duration(now.monotonic))
	default:
		return sub, wasiNotSup // an instant of a processor clock
	}
	return sub, wasiSuccess
}

func appendEvent(b []byte, sub subscription) []byte {
	b = binary.LittleEndian.AppendUint64(b, sub.userdata)
	b = append(b, 0, 0, sub.kind, 0, 0, 0, 0, 0)
	if sub.kind != eventClock {
		b = binary.LittleEndian.AppendUint64(b, 1) // at least a byte
		return append(b, make([]byte, 8)...)
	}
	return append(b, make([]byte, 16)...)
}

// clocks is what a guest sees: Unix nanoseconds, and nanoseconds since some instant before the host started.
type clocks struct{ wall, monotonic int64 }

func (r *run) now() clocks {
	return clocks{r.wall().UnixNano(), int64(time.Since(r.host.started) + time.Second)}
}

// wall is the guest's time of day: the host's, or the planned time of the run and what has passed since the guest began.
func (r *run) wall() time.Time {
	if planned := r.call.Run.ScheduledAt; r.grant.Clock == ClockPlanned && !planned.IsZero() {
		return planned.Add(time.Since(r.begun))
	}
	return time.Now()
}

// abortExit is the exit code with which a program in AssemblyScript aborts.
const abortExit = 255

// abort is env.abort of AssemblyScript: (message, file, line, column), texts of UTF-16 with their length before them.
func abort(r *run, m api.Module, s []uint64) {
	line := fmt.Sprintf("%s at %s:%d:%d", utf16Text(m, s[0]), utf16Text(m, s[1]), api.DecodeU32(s[2]), api.DecodeU32(s[3]))
	r.pass([]byte("\n"+line+"\n"), &r.stderrMask, r.stderr.take)
	panic(sys.NewExitError(abortExit))
}

func utf16Text(m api.Module, ptr uint64) string {
	size, ok := m.Memory().ReadUint32Le(api.DecodeU32(ptr) - 4)
	if !ok {
		return "?"
	}
	b, ok := m.Memory().Read(api.DecodeU32(ptr), min(size, 2*abi.MaxMessage)&^1)
	if !ok {
		return "?"
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}

// assemblyScript is the module env: the one function of it that is ours to give.
var assemblyScript = []hostFunction{{"abort", []api.ValueType{i32, i32, i32, i32}, nil, abort}}

// link makes a host module out of functions. Each of them finds its run in the context and ends when that has ended.
func (h *Host) link(ctx context.Context, module string, fs []hostFunction) error {
	b := h.rt.NewHostModuleBuilder(module)
	for _, f := range fs {
		b.NewFunctionBuilder().WithName(f.name).
			WithGoModuleFunction(api.GoModuleFunc(func(ctx context.Context, m api.Module, stack []uint64) {
				r := runOf(ctx)
				r.check()
				f.call(r, m, stack)
				r.check()
			}), f.params, f.results).Export(f.name)
		h.known[module+"."+f.name] = signature(f.params, f.results)
	}
	_, err := b.Instantiate(ctx)
	return err
}

func (h *Host) linkAll(ctx context.Context) error {
	fs, err := wasiFunctions()
	if err != nil {
		return err
	}
	return errors.Join(
		h.linkMeter(ctx),
		h.link(ctx, wasi.ModuleName, fs),
		h.link(ctx, abi.Module, hostFunctions),
		h.link(ctx, "env", assemblyScript),
	)
}
