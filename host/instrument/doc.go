// Package instrument rewrites a WebAssembly module so that a host can run it without fear: bytes in, bytes out, and
// nothing else. It reads no clock, opens no file and starts no goroutine.
//
// [Instrument] first checks the module, so that a runtime which believes the lengths in it comes to no harm: every count
// is compared with the bytes that are left and with a limit, every index with what the module itself declares. Then it
// builds in four things (see [Part]):
//
//   - [Meter]: the guest counts what it does, and calls the host's function [TickFunction] after every period.
//   - [Stack]: the guest keeps account of the native stack and calls the same function when its budget is spent.
//   - [Tables]: tables can only grow to a number of elements, summed over all tables of the module.
//   - [Merge]: thousands of tiny data segments become a few, or an [Image] that the host maps instead of having them copied.
//
// A large table that code only calls through can be filled as its functions are called, instead of when the module is
// instantiated (Config.Late). References that code makes are made once each.
//
// It also estimates what compiling the module can cost, and refuses what would take the memory or the time of a host: see
// [Stats], and cost.go for the limits and how they were found.
//
// The module behaves the same otherwise, traps included. Its name section is rebuilt, so that a trace shows the names,
// or for want of them the numbers, that it would have shown. Sections of debug information are left out, since the places
// that they tell have moved. Other custom sections stay.
//
// # What the host does
//
// It provides the function [TickFunction] of module [TickModule], without parameters and results. The guest calls it when
// a period has been used, and after every call of an imported function. The host ends a run by panicking in it. In each
// call it can read two things from the exported globals of the calling module:
//
//   - [StackGlobal] below zero: the stack has overflowed. The host must end the run.
//   - [GrantedGlobal] and [FuelGlobal]: what was used so far is [Used] of the two.
//
// A call of an exported function that returns leaves [StackGlobal] as it was. One that traps does not: an instance that is
// used again after a trap, as no sane host does, needs it set to the budget first.
//
// The runtime must have the features of WebAssembly 2.0 on, and tail calls for late tables; they and extended constant
// expressions pass as well.
// Every other feature is refused by its name. The guest must not be linked with other guests: an imported table is not
// capped, and what another guest calls is counted there.
//
// # What fuel is
//
// A unit of fuel is an instruction. A check stands at the entry of a function, at the beginning of each loop, and where
// straight code gets long. It charges before anything runs, for the longest way to the next check, and so an upper bound
// of what runs: up to about a thousand instructions for each turn of a loop of which only a few were run. A function that
// is small and calls nothing has no check; each call of it pays for it, except the host's.
//
// Memory instructions pay a unit for 8 bytes, those of tables one for an element, memory.grow 64 for a page. A fill, copy
// or init of more than 1 MiB runs in pieces with a check between, after the bounds were checked for the whole.
//
// What a guest used is a function of what it did, exact to the unit, whatever the period is. It changes only with
// [Version].
//
// # What bites
//
//   - The host's function is called while the guest is in the middle of something. It must not call into the guest.
//   - A start function runs, and so calls the host, before the module is instantiated. Only the module that is passed to
//     the host's function can be asked then.
//   - The stack level is an estimate of what wazero's compiler uses, usually up to twice too high. A module made for it can
//     stay below, and the frame of a function that calls none is not counted. wazero's own ceiling is the last resort.
//   - A table.grow or memory.grow is one piece.
//   - A module with a late table has a start function, which neither ticks nor is charged for.
package instrument
