package boltstore

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"io"

	"github.com/jobhost/jobhost"
)

// Export writes every record as JSON, one a line: {"kind":"job","record":{…}}. The first line has the kind store and
// says of which format the file is. Then come, each by its key:
//
//	job, trigger   all fields; durations are Go durations
//	run            a [jobhost.Run]: those in progress, then those that have ended, the oldest first
//	log            one line of a run's log: run and the fields of a [jobhost.LogEntry]
//	output         what a run returned: run, and text or base64
//	node           a [jobhost.Node]
//	cancel         a request to cancel a run: node and run
//	key            an idempotency key: job, key, run and expires
//	value          a durable value: job, key, and text or base64
//	damaged        a record that cannot be read: bucket, key in hexadecimal, error
//
// Instants are RFC 3339 in UTC, and data is the JSON that it is, without spaces between values; a string of it when it is
// nested more than 9,997 levels deep. All lines are of one moment. What is said of w and of
// slowness at [Store.Backup] holds here too.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	return s.read(ctx, "boltstore.export", func(t *tx) error {
		buffered := bufio.NewWriterSize(s.outlet(ctx, t.b, w), 64<<10)
		x := exporter{t: t, out: json.NewEncoder(buffered)}
		x.out.SetEscapeHTML(false)
		x.all(s.format)
		if x.err != nil {
			return x.err
		}
		return buffered.Flush()
	})
}

// exporter writes lines until an error.
type exporter struct {
	t    *tx
	out  *json.Encoder
	told int // damaged records that have their line
	err  error
}

func (x *exporter) line(kind string, record any) {
	if x.err == nil {
		x.err = x.out.Encode(struct {
			Kind   string `json:"kind"`
			Record any    `json:"record"`
		}{kind, record})
	}
}

func (x *exporter) all(format uint64) {
	x.line("store", map[string]uint64{"format": format})
	x.each(bJobs, func(k, v []byte) error {
		j, err := decodeJob(string(k), v)
		return x.put("job", jobLine(j), err)
	})
	x.each(bTriggers, func(k, v []byte) error {
		key, err := triggerKey(k)
		if err != nil {
			return err
		}
		t, err := decodeTrigger(key, v)
		return x.put("trigger", triggerLine(t), err)
	})
	x.each(bOpen, func(k, v []byte) error {
		_, id, ok := bytes.Cut(k, []byte{0})
		if !ok || len(id) != idLen {
			return errKey
		}
		r, err := decodeRun(rawID(id), v)
		return x.put("run", runLine(r), err)
	})
	x.each(bRuns, func(k, v []byte) error {
		_, id, err := startedKey(k)
		if err != nil {
			return err
		}
		r, err := decodeEndedRun(id, v)
		return x.put("run", runLine(r), err)
	})
	x.each(bLogs, x.log)
	x.each(bOutputs, func(k, v []byte) error {
		b, ok := bytesOf(v)
		if !ok || len(k) != idLen {
			return errShort
		}
		return x.put("output", outputLine{rawID(k).id(), content(b)}, nil)
	})
	x.each(bNodes, func(k, v []byte) error {
		n, err := decodeNode(string(k), v)
		return x.put("node", n, err)
	})
	x.each(bCancels, func(k, _ []byte) error {
		node, id, err := cancelKey(k)
		return x.put("cancel", cancelLine{node, id.id()}, err)
	})
	x.each(bKeys, func(k, v []byte) error {
		job, key, ok := bytes.Cut(k, []byte{0})
		if !ok {
			return errKey
		}
		id, until, err := idempotent(v)
		return x.put("key", keyLine{string(job), string(key), id.id(), fromMicro(until)}, err)
	})
	x.each(bValues, func(k, v []byte) error {
		job, key, found := bytes.Cut(k, []byte{0})
		b, ok := bytesOf(v)
		if !found || !ok {
			return errShort
		}
		return x.put("value", valueLine{string(job), string(key), content(b)}, nil)
	})
}

// each hands on the records of a bucket, and writes a line for one that f or the bucket finds damaged.
func (x *exporter) each(i bucket, f func(k, v []byte) error) {
	x.t.scan(i, nil, func(k, v []byte) bool {
		if len(x.t.damaged) == x.told { // its parts are not missing
			if err := f(k, v); err != nil {
				x.t.damage(i, k, err)
			}
		}
		for _, d := range x.t.damaged[x.told:] {
			x.line("damaged", damagedLine{d.Bucket, hex.EncodeToString(d.Key), d.Err.Error()})
		}
		x.told = len(x.t.damaged)
		return x.err == nil
	})
}

// put writes a record that could be read.
func (x *exporter) put(kind string, record any, err error) error {
	if err == nil {
		x.line(kind, record)
	}
	return err
}

// log writes a chunk, which is lines of JSON, entry by entry. What is no entry is written as it is.
func (x *exporter) log(k, v []byte) error {
	b, ok := bytesOf(v)
	if !ok || len(k) != idLen+4 {
		return errShort
	}
	run := rawID(k[:idLen]).id()
	for line := range bytes.Lines(b) {
		var e jobhost.LogEntry
		if err := json.Unmarshal(line, &e); err != nil {
			x.line("log", outputLine{run, content(bytes.TrimSuffix(line, []byte("\n")))})
			continue
		}
		e.Time = e.Time.UTC()
		x.line("log", logLine{run, e})
	}
	return nil
}
