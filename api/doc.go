// Package api is the HTTP interface of a [jobhost.Scheduler], both ends of it.
//
// [NewHandler] serves a scheduler under /v1 as JSON, with /healthz, /readyz and /openapi.json beside it. [Client] is a
// scheduler that asks such a handler, so a program steers a scheduler of its own and one of another process with the
// same code. [Server] listens on a Unix socket for a handler.
//
// What bites:
//
//   - A failed call is an RFC 9457 problem that carries the [jobhost.Code] of the failure; [Client] turns it back into a
//     [jobhost.Error] with the same code, message, hint and parameters.
//   - A run that was started is an answer and no failure: trigger answers 200 with the run, however it ended.
//   - Lists go in and come out as JSON arrays. A batch answers 200 with one [Result] per item, in order.
//   - Definitions use the names of the YAML file (allow_concurrent), everything else the names of the records
//     (scheduledAt). Fields and query parameters that are not known are refused.
//   - A request is bounded in bytes, items, values and texts ([MaxBody] and those beside it), and so are the bodies that are
//     read at one time: more of them is a 503 with Retry-After. [Client] sends a long batch in several requests, one after
//     the other. Data that no reader could read is answered as {"unreadable":"…"}.
//   - The package reads no clock. The write deadlines of slow clients come from [Config.Now].
package api
