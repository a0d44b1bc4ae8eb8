package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"
	"github.com/tetratelabs/wazero/sys"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/abi"
)

// run is one call of a plugin. It belongs to the goroutine of [Host.Run], on which the guest and every host function
// run too; only ctx and slot are touched from elsewhere.
type run struct {
	host   *Host
	module *module
	call   jobhost.Call
	grant  Grant           // with its limits filled in
	ctx    context.Context //nolint:containedctx // host functions have to find the end of the run that called them
	until  time.Time       // when ctx ends at the latest; zero: no limit

	document []byte
	input    []byte
	begun    time.Time
	slot     slot
	memory   memory
	meter    meter
	jails    []*jail
	files    int  // that the guest has open
	noSpace  bool // a call met a disk or a limit that is full

	secrets    [][2]string // names and values
	variables  [][]byte    // see environ
	mask       *masker     // hides them; nil: there are none
	stdoutMask maskFilter
	stderrMask maskFilter

	stdout  capture
	stderr  lines
	output  *capture // what the guest set; nil: nothing
	failure *failure
	remarks remarks
	spans   spans
	web     *web // nil: no request was made
}

type runKey struct{}

// runOf returns the run whose guest is calling.
func runOf(ctx context.Context) *run { return ctx.Value(runKey{}).(*run) }

// errEnded ends a guest whose run has ended from outside. context.Cause of the run's context says why.
var errEnded = errors.New("the run has ended")

// trapError ends a guest that the host stops for what it did itself.
type trapError struct {
	kind  string
	limit bool // a limit of the host's, before which nothing that the guest said counts
}

func (e *trapError) Error() string { return "trap: " + e.kind }

// ended reports whether the run was ended from outside. The clock is asked too, since a timer may be late.
func (r *run) ended(now time.Time) bool {
	return r.ctx.Err() != nil || !r.until.IsZero() && !now.Before(r.until)
}

// check ends the guest if its run has ended.
func (r *run) check() {
	if r.ctx.Err() != nil {
		panic(errEnded)
	}
}

// pause is where the guest's work on this side can be interrupted: it ends the guest if its run has ended, and lets
// others compute.
func (r *run) pause() {
	now := time.Now()
	if r.ended(now) || !r.slot.handOn(r.ctx, now) {
		panic(errEnded)
	}
}

// stopping reports whether the run was asked to stop.
func (r *run) stopping() bool {
	select {
	case <-r.call.Stop:
		return true
	default:
		return r.ctx.Err() != nil
	}
}

// wait waits without a compute slot. It returns false at once when stop is closed, and ends the guest when the run
// ends.
func (r *run) wait(d time.Duration, stop <-chan struct{}) bool {
	r.slot.give()
	t := time.NewTimer(d)
	defer t.Stop()
	whole := true
	select {
	case <-t.C:
	case <-stop:
		whole = false
	case <-r.ctx.Done():
		panic(errEnded)
	}
	if !r.slot.take(r.ctx) {
		panic(errEnded)
	}
	return whole
}

// away does something that waits, without a compute slot. What it does must end with the run's context. It ends the guest when
// the run has ended meanwhile.
func (r *run) away(wait func()) {
	r.slot.give()
	wait()
	if !r.slot.take(r.ctx) {
		panic(errEnded)
	}
}

// Read implements io.Reader for the guest's random numbers.
func (r *run) Read(p []byte) (int, error) {
	r.pause()
	return rand.Read(p[:min(len(p), abi.MaxChunk)])
}

// guest runs the guest to its end: nil if it returned or exited with success.
func (r *run) guest() error {
	return r.within(func(ctx context.Context, instance api.Module) error {
		if r.module.kind == abi.Command {
			_, err := instance.ExportedFunction(abi.ExportStart).Call(ctx)
			return exited(err)
		}
		return r.reactor(ctx, instance)
	})
}

// within makes an instance and calls it. Whatever it has taken is given back.
func (r *run) within(call func(context.Context, api.Module) error) (err error) {
	defer r.close()
	defer func() {
		if p := recover(); p != nil {
			err = recovered(p)
		}
	}()
	if err := r.readSecrets(); err != nil {
		return err
	}
	if !r.slot.take(r.ctx) {
		return errEnded
	}
	defer r.slot.give()
	r.begun = time.Now()
	r.spans = newSpans(r.call)
	config, err := r.config()
	if err != nil {
		return err
	}
	ctx := context.WithValue(experimental.WithMemoryAllocator(r.ctx, &r.memory), runKey{}, r)
	instance, err := r.host.rt.InstantiateModule(ctx, r.module.compiled, config)
	if err != nil {
		return r.notStarted(err)
	}
	defer func() { _ = instance.Close(context.WithoutCancel(ctx)) }() // its only error is that of closing a file for a guest that did not
	r.meter.attach(instance)
	return call(ctx, instance)
}

// reactor initialises a reactor and calls it.
func (r *run) reactor(ctx context.Context, instance api.Module) error {
	if init := instance.ExportedFunction(abi.ExportInitialize); init != nil {
		if _, err := init.Call(ctx); err != nil {
			return tooSoon(err)
		}
	}
	results, err := instance.ExportedFunction(abi.ExportRun).Call(ctx)
	if err == nil && api.DecodeI32(results[0]) != 0 {
		return &returnedError{code: api.DecodeI32(results[0])}
	}
	return exited(err)
}

// returnedError is a reactor's result that is not zero.
type returnedError struct{ code int32 }

func (e *returnedError) Error() string {
	return abi.ExportRun + " returned " + strconv.Itoa(int(e.code))
}

// exited takes the exit with success for what it is.
func exited(err error) error {
	if e, ok := errors.AsType[*sys.ExitError](err); ok && e.ExitCode() == abi.ExitSuccess {
		return nil
	}
	return err
}

// notStarted is what a guest ends with when there is no instance of it. Its start function may have run.
func (r *run) notStarted(err error) error {
	if _, exit := errors.AsType[*sys.ExitError](err); exit && r.module.kind == abi.Command {
		return exited(err)
	}
	return fmt.Errorf("trap at start: %w", tooSoon(err))
}

// tooSoon takes an exit with success for the failure that it is before a reactor was called.
func tooSoon(err error) error {
	if exited(err) == nil {
		return &trapError{kind: "exited before " + abi.ExportRun + " was called"}
	}
	return err
}

// close gives back what the guest has taken, also when the instance never came to be.
func (r *run) close() {
	if r.web != nil {
		r.web.close()
	}
	for _, j := range r.jails {
		j.close()
	}
	r.memory.free()
}

// config is the guest's surroundings (ABI 1) but for its environment. Nothing is inherited.
func (r *run) config() (wazero.ModuleConfig, error) {
	c := wazero.NewModuleConfig().WithName("").WithStartFunctions().
		WithArgs(append([]string{r.call.Run.Job}, r.grant.Args...)...).
		WithStdin(&stdin{r, bytes.NewReader(r.input)}).
		WithStdout(&stdout{r}).
		WithStderr(&stderr{r}).
		WithRandSource(r).
		WithWalltime(func() (int64, int32) { now := r.wall(); return now.Unix(), int32(now.Nanosecond()) }, 1). //nolint:gosec // below 1e9
		WithNanotime(func() int64 { return r.now().monotonic }, 1).
		WithNanosleep(func(ns int64) { r.wait(time.Duration(ns), nil) }).
		WithOsyield(func() { r.pause(); runtime.Gosched() })
	if len(r.grant.Dirs) == 0 {
		return c, nil
	}
	fs, err := r.mount()
	if err != nil {
		return nil, err
	}
	return c.WithFSConfig(fs), nil
}

// recovered turns a panic of the runtime or of ours into an error.
func recovered(p any) error {
	if err, ok := p.(error); ok {
		return fmt.Errorf("host panic: %w", err)
	}
	return fmt.Errorf("host panic: %v", p)
}
