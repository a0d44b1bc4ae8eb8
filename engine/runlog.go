package engine

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jobhost/jobhost"
)

// What is kept of a run's log (DESIGN 6): the first bytes and the last, counted over the messages.
const (
	logHead  = 64 << 10  // unless the run has another limit
	logTail  = 192 << 10 // the same
	logChunk = 64 << 10
	logLine  = 8 << 10
	logFlush = 2 * time.Second // how often what a run in progress has said is stored
	perEntry = 32              // counted for an entry besides its message, so that empty lines are bounded too
)

// A runLog keeps what a run in progress has logged and lets others follow it. It is the run's [jobhost.RunSink]: it never
// blocks, and a follower that is too slow misses lines and is told so.
type runLog struct {
	now      func() time.Time
	progress atomic.Pointer[jobhost.Progress] // nil until the run has told

	mu    sync.Mutex
	seq   int                // of the last entry
	last  time.Time          // its time
	head  []jobhost.LogEntry // the first ones
	tail  []jobhost.LogEntry // the last ones
	sizes [2]int             // of head and tail
	most  [2]int             // that they may have
	saved int                // entries of head that are stored
	over  bool               // the run has ended
	pulse chan struct{}      // closed and replaced with each entry, if somebody follows
}

func newRunLog(now func() time.Time) *runLog {
	return &runLog{now: now, most: [2]int{logHead, logTail}}
}

// LimitLog keeps so many bytes instead of 256 KiB, a quarter of them from the beginning. It is for the time before the
// first line. Package host calls it for the run's grant.
func (l *runLog) LimitLog(bytes int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.most = [2]int{bytes / 4, bytes - bytes/4}
}

// Log takes one line and keeps at most 8 KiB of it.
func (l *runLog) Log(level int, msg string) {
	e := jobhost.LogEntry{Time: l.now(), Level: level, Msg: cut(msg, logLine)}
	size := len(e.Msg) + perEntry
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.seq++
	e.Seq, l.last = l.seq, e.Time
	if l.seq == len(l.head)+1 && l.sizes[0]+size <= l.most[0] {
		l.head = append(l.head, e)
		l.sizes[0] += size
	} else {
		l.tail = append(l.tail, e)
		l.sizes[1] += size
		for l.sizes[1] > l.most[1] {
			l.sizes[1] -= len(l.tail[0].Msg) + perEntry
			l.tail = l.tail[1:]
		}
	}
	l.tellFollowers()
}

// Progress takes how far the run is and keeps the last that it says. It takes no lock, so nobody who reads slows the run.
func (l *runLog) Progress(done, total int64, msg string) {
	l.progress.Store(&jobhost.Progress{Done: done, Total: total, Msg: cut(msg, logLine), At: l.now()})
}

// lastProgress is a copy of what the run has told last; nil: nothing.
func (l *runLog) lastProgress() *jobhost.Progress {
	p := l.progress.Load()
	if p == nil {
		return nil
	}
	last := *p
	return &last
}

func (l *runLog) tellFollowers() {
	if l.pulse != nil {
		close(l.pulse)
		l.pulse = nil
	}
}

// close ends the log and returns the chunks that are not stored yet.
func (l *runLog) close() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	entries := slices.Concat(l.head[l.saved:], l.withGap())
	l.saved = len(l.head)
	return encodeLog(entries)
}

// recorded tells followers that the run's end is on record.
func (l *runLog) recorded() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tellFollowers()
}

// unsaved returns the chunks of the head that are not stored yet, and marks them stored.
func (l *runLog) unsaved() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	chunks := encodeLog(l.head[l.saved:])
	l.saved = len(l.head)
	return chunks
}

// withGap is the tail, after an entry that says what is missing before it.
func (l *runLog) withGap() []jobhost.LogEntry {
	next := jobhost.LogEntry{Seq: l.seq + 1, Time: l.last}
	if len(l.tail) > 0 {
		next = l.tail[0]
	}
	return append(gap(len(l.head), next), l.tail...)
}

// gap is the entry that stands for those missing between the last one seen and the next; none if none is missing.
func gap(last int, next jobhost.LogEntry) []jobhost.LogEntry {
	n := next.Seq - last - 1
	if n <= 0 {
		return nil
	}
	return []jobhost.LogEntry{{
		Seq: next.Seq - 1, Time: next.Time, Level: int(slog.LevelWarn), Msg: fmt.Sprintf("… %d lines are missing here …", n),
	}}
}

// after returns the entries after a sequence number, whether the run has ended, and a channel that is closed when there is
// more.
func (l *runLog) after(seq int) (entries []jobhost.LogEntry, over bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, part := range [][]jobhost.LogEntry{l.head, l.tail} {
		for _, e := range part {
			if e.Seq > seq {
				entries = append(append(entries, gap(max(seq, lastSeq(entries)), e)...), e)
			}
		}
	}
	if l.pulse == nil {
		l.pulse = make(chan struct{})
	}
	return entries, l.over, l.pulse
}

func lastSeq(es []jobhost.LogEntry) int {
	if len(es) == 0 {
		return 0
	}
	return es[len(es)-1].Seq
}

// encodeLog writes entries as JSON lines in chunks of at most 64 KiB.
func encodeLog(entries []jobhost.LogEntry) [][]byte {
	var chunks [][]byte
	var chunk []byte
	for _, e := range entries {
		line, err := json.Marshal(e)
		if err != nil {
			continue // numbers, a time in range and a string cannot fail
		}
		if len(chunk)+len(line)+1 > logChunk && len(chunk) > 0 {
			chunks = append(chunks, chunk)
			chunk = nil
		}
		chunk = append(append(chunk, line...), '\n')
	}
	if len(chunk) > 0 {
		chunks = append(chunks, chunk)
	}
	return chunks
}
