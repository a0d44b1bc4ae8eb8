// Package host loads plugins, which are WebAssembly modules, and runs them. ABI.md is the contract with the guest; this
// package is the host's side of it.
//
// The types to know:
//
//   - [Host] is a [github.com/jobhost/jobhost.Runner]. [New] reads the plugin folder and compiles in the background,
//     [Host.Ready] waits for that, [Host.Rescan] reads it again.
//   - [Config] says where things are and what the limits are; it starts from [Defaults].
//   - [Grant] is what a plugin may use when it runs for a job: arguments, variables, [Secret]s, a [Dir], [HTTP] requests,
//     durable values. Without one: its input, a clock, random numbers, its log and its spans.
//   - [Inspection] is what a module says about itself, from [Host.Inspect].
//
// Every run gets a fresh instance, whose memory lies outside the Go heap and is made as new, or unmapped, when the run is
// over. Modules are instrumented when they are loaded (package instrument), so that a guest can be ended anywhere and never
// keeps the host's other goroutines waiting.
//
// What bites:
//
//   - A computing guest holds one of NumCPU compute slots and hands it on each millisecond. That leaves the host room
//     only if there is a processor more than there are slots: the command sets GOMAXPROCS to NumCPU + 1, and whoever
//     uses this package as a library should too.
//   - Symbolic links that leave a granted directory are errors to the guest. A hung network mount cannot be interrupted:
//     a run that waits for one ends when the mount answers, though it holds no compute slot meanwhile.
//   - A writable directory has no quota. MaxWritten of a [Dir] bounds what one run writes, not what many leave behind: for that
//     it needs a file system of its own. A link in it that leads upward may lead elsewhere once a guest has moved the folder around it.
//     Guests do not get out by it, but other programs that follow links there should know.
//   - What a guest is refused is a line "capability_denied: ..." in its run's log, one for each thing that it lacks.
//   - Secrets are hidden where the guest's words come out: log, output, failure, progress, spans, also in JSON, URL and base64
//     forms. A guest that means to can write them in another form. Give secrets to plugins that you trust with them.
//   - Requests of guests go over HTTP/1.1, through no proxy, with no cookies kept and no compression undone. Each run has
//     connections of its own. The address is checked when it is connected to, so a name of a granted host that resolves to a
//     private address is refused unless its grant says private.
//   - With [ClockPlanned] JOBHOST_DEADLINE and the times of files are still those of the real clock.
//   - A compilation cannot be interrupted. It is bounded (package instrument: about 1 GiB and a minute), large ones run one at
//     a time, and nobody waits longer for one than its context lasts; [Host.Close] waits a second.
//   - Where compiled code cannot run, plugins are interpreted, 30 to 90 times slower and with shallower recursion. The log
//     says so at start.
package host
