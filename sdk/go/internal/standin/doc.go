// Package standin has what stands in for a host where there is none.
//
//   - [Values] are durable values in a map, with the limits of a host.
//   - [Responses] are HTTP requests sent through a round tripper.
//   - [Program] is a host made of standard input, output and error, for a job that is built as an ordinary program.
//
// What bites: it must not be imported by what is built for WebAssembly. It brings net/http, which is most of a guest.
package standin
