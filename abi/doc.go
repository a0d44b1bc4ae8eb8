// Package abi is the contract between the host and a guest, version 1: the names, numbers, limits and documents that
// both sides agree on. It is pure and needs the standard library alone, so a guest written in Go may import it too.
//
// What to know:
//
//   - [Module] is the module that a guest imports the host functions from; its name carries the major version.
//   - [Errno] is what a host function answers when it refuses.
//   - [Run] is the run document: who the guest is and what it was called for.
//   - The limits say where text is cut and which calls are refused.
//
// What bites: functions may be added to version 1, never changed, so a guest must ignore fields of the run document
// that it does not know, and a host must refuse a module that imports a function that it does not have.
package abi
