// Package boltstore keeps everything in one bbolt file, for one process at a time.
//
// [Open] makes or opens the file; the [Store] is a [jobhost.Store], private and persistent. An Update returns when its
// change is on the disk. The file is bbolt's, so its tools can look at it; what is in it:
//
//	bucket    key                                        value
//	meta      "format"                                   one byte: 1
//	jobs      job                                        job record
//	locals    job                                        –, of a job that runs on every instance
//	triggers  job 0 trigger                              trigger record
//	ready     ^priority ready job 0 trigger              1 for the engine's one-shots, else 0
//	blocked   job 0 ^priority due trigger                –
//	pending   run id of a manual one-shot                job 0 trigger
//	open      job 0 id                                   run record, of a run that has not ended
//	runs      started ^id                                segment, run record, of an ended run; without a start, started is its end
//	jobruns   segment job 0 started ^id                  –, for each ended run
//	          segment                                    the latest start in this and older segments
//	runids    id                                         started, of ended runs whose id is of another millisecond
//	logs      id number                                  1 chunk
//	outputs   id                                         1 output
//	nodes     node                                       node record
//	cancels   length node id                             –
//	keys      job 0 idempotency key                      version id expiry
//	expiry    expiry job 0 idempotency key               –
//	values    job 0 key                                  1 value
//	parts     letter, length and bytes of a key, number  part of a large record, which itself is 0 and a length
//
// Instants in keys are 8 bytes of microseconds, priorities 4, both big-endian with the sign flipped; ^ means that the
// bits are inverted. Ids are 16 bytes. The runs are read backwards: newest start first, then by id. A record begins
// with the version of its form.
//
// A firing changes four keys when it is claimed (trigger, ready twice, open) and three when it has ended (open, runs,
// jobruns).
//
// Besides, a store can be described ([Store.Stats]), saved while it works ([Store.Backup]), and written out as JSON
// ([Store.Export]). [Compact] rewrites a file that nobody has open. An older format is brought to today's by Open, see
// format.go.
//
// What bites: bbolt has one writer, and an Update inside an Update or View of the same goroutine can wait for itself. A
// View that lasts makes the file grow. The file never shrinks but by a compaction. Much more address space is taken than
// the file is large, so that a long View does not hold up who makes the file grow (not on Windows). A record that cannot be read, because it is damaged or
// of a newer program, is left in place, reported to [Config.Report] and left out of every answer. With a
// [Config.MaxSize] the last fifth is kept: an eighth of it all for logs and outputs of runs that were begun, and the rest
// for what changes little or deletes, so that a full store can be made to fit again.
// Large records are kept in parts, so that no node takes more than a page (see parts.go).
//
// A file is read as a whole before it is used, and one with a damaged page is refused (see [Damaged]), since bbolt would
// end the process. Damage that comes while it is open is an error of whatever reads it, and from then on nothing is
// written. Only a commit that fails for another reason, such as a full disk, on a file that is damaged without anybody
// knowing yet can still end the process: bbolt then walks through the file on a goroutine of its own.
package boltstore
