// Package jobhosttest runs a job's handler in a test, without WebAssembly and without a host.
//
//	host := jobhosttest.Host{Data: map[string]any{"name": "Ada"}}
//	got := host.Run(t.Context(), handle)
//	if got.Err != nil { … }
//
// The types:
//
//   - [Host] is what surrounds the run. Its zero value gives empty data, has room for durable values and lets nobody into
//     the network.
//   - [Result] is what the host would have seen.
//
// What bites: a sleep takes its time. Inside a bubble of testing/synctest it takes none.
package jobhosttest
