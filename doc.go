// Package jobhost is the vocabulary of a job host: jobs and their triggers, runs and their states, and the few
// contracts between the parts that keep, run and steer them.
//
// It holds words and pure rules about single values. The scheduling rules are in package engine, plugins in package
// host, stores in memstore and boltstore. Nothing here reads a clock, opens a file or starts a goroutine.
//
// The types to know:
//
//   - [JobDef] and [TriggerDef] are what a user defines; [Job] and [Trigger] what a store keeps of them.
//   - [Schedule] says when; it converts to text and back.
//   - [Run] is one execution and its record in the history.
//   - [Store] keeps all of it behind View and Update closures over [Tx]; it carries no rule.
//   - [Runner] runs one call of a plugin; [Middleware] surrounds it.
//   - [Scheduler] is the management contract. The engine implements it, and so does the client of its HTTP interface.
//   - [Error] carries a stable [Code].
//
// Instants are UTC with microsecond precision wherever they are stored.
package jobhost
