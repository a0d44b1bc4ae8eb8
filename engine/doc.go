// Package engine decides: every scheduling rule lives here, once, whatever the store and whatever runs the jobs.
//
// An [Engine] is made of a store, a runner and a [Config]. [Engine.Serve] runs it until its context ends; the engine is
// also the [jobhost.Scheduler] through which jobs are defined, run, cancelled and looked at.
//
// # How it works
//
// One goroutine owns the decisions. It sleeps until the next trigger is due, a run has ended or somebody asked for
// something, and then does one turn: a single transaction that records what finished, carries out commands, settles the
// triggers that waited for a finished run, and claims what is due. Claim and start are one commit, so no trigger is ever
// taken without its run being on record. What queued up during one commit goes into the next, so a commit serves many
// runs.
//
// The rules are functions from values to values, without a store or a clock: the plan of a schedule (plan.go), what becomes
// of a due trigger (settle.go) and of what it has missed (refuse.go), and how a run ended and what follows it (judge.go).
//
// The turn (turn.go) reads, asks them and writes: what finished (finish.go), what that frees (free.go), what is due
// (claim.go, local.go). The loop (loop.go) decides when to turn, take.go with what, and doubt.go what a turn means that
// failed; serve.go and stop.go are its beginning and end, and dispatch.go runs what was started. Beside it a goroutine does
// what a node owes to others (duties.go, lease.go).
//
// What the files define comes in by [Engine.Apply] and [Engine.SetCalendars], at the start and whenever it changes. They
// compare with the store by reading, and only what differs becomes commands of a turn.
//
// # What bites
//
//   - A turn may be executed more than once by the store; it starts from scratch each time and only its last result counts.
//   - A turn whose outcome is unknown is not a turn that failed. Its run ids are read back, and what was stored after all is
//     dispatched.
//   - The wall clock decides what is due; timers only wake the loop.
package engine
