// Package jobtest tests what implements the contracts of package jobhost, and breaks stores on purpose.
//
// [Store] is the suite that every store passes: each primitive of [jobhost.Tx], its order, its copies, rollback, and
// for persistent stores reopening. [Differential] plays random transactions on two stores and compares every answer.
// Both take an [Opener]. [Leader] is the suite that every election passes; it takes a [LeaderOpener]. [Scheduler] is the
// suite of the management contract, which an engine and a client of one pass alike; it takes a [SchedulerOpener].
//
// [Twice], [CrashAt], [Slow] and [Flaky] surround a store with a fault. They hide any ability of the store beyond
// [jobhost.Store], and can be put around each other.
//
// The package is for tests only. Cases carry the numbers of SPEC 31 in their names.
package jobtest
