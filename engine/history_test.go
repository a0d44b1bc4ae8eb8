package engine

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
)

// history puts ended runs of a job on record, one that ended at each instant after t0.
func (w *world) history(name jobhost.Name, ends ...time.Duration) {
	w.Helper()
	ids := drawIDs(t0, len(ends))
	err := w.store.Update(w.Context(), func(tx jobhost.Tx) error {
		for i, end := range ends {
			r := jobhost.Run{
				ID: ids[i], Job: name, Kind: jobhost.KindManual, Attempt: 1, State: jobhost.RunSucceeded, Node: "n1",
				ScheduledAt: t0.Add(end - second), StartedAt: t0.Add(end - second), EndedAt: t0.Add(end),
			}
			if err := tx.PutRuns(r); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.Fatal(err)
	}
}

func TestRetention(t *testing.T) {
	const day = 24 * hour
	for name, c := range map[string]struct {
		retention time.Duration
		limit     int
		want      int
	}{
		"S-185 what ended seven days and a second ago goes": {7 * day, 0, 2},
		"S-185 without any limit nothing goes":              {0, 0, 4},
		"S-185 the newest three stay":                       {0, 3, 3},
		"S-185 the stricter of both limits counts":          {7 * day, 1, 1},
	} {
		eachStore(t, name, func(w *world) {
			w.cfg.HistoryRetention = c.retention
			d := jobhost.NewJob("j", "p")
			d.HistoryLimit = c.limit
			w.define(d)
			w.history("j", -30*day, -7*day-second, -6*day, -hour)
			w.restart()
			stop := w.serve()
			time.Sleep(w.cfg.HousekeepingInterval)
			stop()
			rs := w.runs("j")
			is(w, "runs", len(rs), c.want)
			isAt(w, "the newest", rs[len(rs)-1].EndedAt, -hour)
			for i := range rs[1:] {
				if rs[i].EndedAt.After(rs[i+1].EndedAt) {
					w.Errorf("run %d of %d ended after the next", i, len(rs))
				}
			}
		})
	}

	eachStore(t, "FR-43 thousands of runs too many go within a housekeeping period, and no firing waits for it", func(w *world) {
		few := jobhost.NewJob("few", "p")
		few.HistoryLimit = 100
		w.define(few, job("tick", "cron * * * * * *"))
		ends := make([]time.Duration, 5000)
		for i := range ends {
			ends[i] = -hour + time.Duration(i)*time.Millisecond
		}
		w.history("few", ends...)
		w.restart()
		w.store = jobtest.Slow(w.store, 5*time.Millisecond)
		stop := w.serve()
		time.Sleep(w.cfg.HousekeepingInterval)
		stop()
		is(w, "runs that are kept", len(w.runs("few")), 100)
		for _, r := range w.runs("tick") {
			if late := r.StartedAt.Sub(r.ScheduledAt); late > 20*time.Millisecond { // a turn, and what may be before it
				w.Errorf("the firing of %v is %v late", r.ScheduledAt, late)
			}
		}
	})
}

// journal is where a story's log goes when the story reads it.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(b []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(b)
}

// logs makes the story's engines log there from now on, and returns a function that says which lines have all the words.
func (w *world) logs() (lines func(words ...string) int) {
	j := &journal{}
	w.cfg.Log = slog.New(slog.NewTextHandler(j, nil))
	return func(words ...string) (n int) {
		j.mu.Lock()
		defer j.mu.Unlock()
		for line := range strings.Lines(j.text.String()) {
			found := true
			for _, word := range words {
				found = found && strings.Contains(line, word)
			}
			if found {
				n++
			}
		}
		return n
	}
}

func TestWhatIsLogged(t *testing.T) {
	eachStore(t, "S-178 a file that wins over a change at run time says so", func(w *world) {
		lines := w.logs()
		apply := func(defs ...jobhost.JobDef) {
			if err := w.eng().Apply(w.Context(), defs); err != nil {
				w.Fatal(err)
			}
		}
		apply(job("over", "every 1h"), job("same", "every 1h"))
		stop := w.serve()
		w.define(job("over", "every 2h"), job("same", "every 2h"), job("runtime", "every 2h"))
		apply(job("over", "every 3h"), job("same", "every 1h"), job("runtime", "every 3h"))
		for name, want := range map[string]int{"over": 1, "same": 0, "runtime": 1} {
			is(w, "warnings about "+name, lines("level=WARN", "job="+name, "replaces one that was made at run time"), want)
		}
		stop()
	})

	eachStore(t, "S-186 a sink that fails or panics is logged, and changes nothing", func(w *world) {
		lines := w.logs()
		w.cfg.Sinks = []jobhost.EventSink{
			func(jobhost.Event) error { return errors.New("it is out of order") },
			func(jobhost.Event) error { panic("at the disco") },
		}
		w.define(jobhost.NewJob("j", "p"))
		stop := w.serve()
		is(w, "state", (<-w.startManual("j")).Value.State, jobhost.RunSucceeded)
		stop()
		is(w, "failures", lines("level=ERROR", "it is out of order"), 2) // of its start and its end
		is(w, "panics", lines("level=ERROR", "at the disco"), 2)
	})
}
