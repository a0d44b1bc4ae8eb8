// Package memstore keeps everything in memory, for tests and trials. All is lost at exit.
//
// [Store] is a [jobhost.Store]. It is private, or shared by several engines of one process that are given the same
// value, so that the rules of a cluster can be tried without a database (SPEC 28).
//
// A transaction works on copy-on-write trees: an Update changes its own version and publishes it when it ends well, so
// a View never waits, sees one version all along, and a failed Update leaves nothing behind. Updates run one at a time.
//
// What bites: an Update inside an Update of the same store never returns. Reads are copies, so a list of many runs with
// large data costs memory twice.
package memstore
