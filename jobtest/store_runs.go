package jobtest

import (
	"bytes"
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

var runCases = []storeCase{
	{"a run comes back as it was put, while it goes on and when it has ended", func(s *suite) {
		full := fullRun(1, "a", t0, t0.Add(time.Minute))
		open := full
		open.State, open.EndedAt, open.ErrorCode, open.ErrorMessage = jobhost.RunRunning, time.Time{}, "", ""
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(open) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "open", []jobhost.Run{open})(tx.Runs(open.ID))
			same(s, "OpenRuns", []jobhost.Run{open})(tx.OpenRuns(""))
			open.Data = nil
			same(s, "QueryRuns", []jobhost.Run{open})(tx.QueryRuns(jobhost.RunQuery{Limit: 9}))
			return nil
		})
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(full) })
		s.view(func(tx jobhost.Tx) error {
			same(s, "ended", []jobhost.Run{full})(tx.Runs(full.ID))
			same(s, "OpenRuns", []jobhost.Run(nil))(tx.OpenRuns(""))
			full.Data = nil
			same(s, "QueryRuns", []jobhost.Run{full})(tx.QueryRuns(jobhost.RunQuery{Limit: 9}))
			return nil
		})
	}},
	{"a run is found by its id, whatever lies between the id and the start", func(s *suite) {
		var rs []jobhost.Run
		var ids []jobhost.RunID
		for i, wait := range []time.Duration{
			0, time.Microsecond, 999 * time.Microsecond, time.Millisecond, time.Hour, 0, 0, 0, -time.Microsecond, -time.Hour,
			time.Microsecond, 500 * time.Microsecond, 24 * time.Hour, 2 * time.Microsecond,
		} {
			r := newRun(i, "a", t0)
			r.StartedAt = t0.Add(wait)
			if i%3 != 0 {
				r = ended(r, t0.Add(48*time.Hour))
			}
			rs, ids = append(rs, r), append(ids, r.ID)
		}
		s.update(func(tx jobhost.Tx) error {
			if err := tx.PutRuns(rs...); err != nil {
				return err
			}
			same(s, "own writes", rs)(tx.Runs(ids...))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "all", rs)(tx.Runs(ids...))
			same(s, "of none", []jobhost.Run(nil))(tx.Runs())
			for i := range rs {
				same(s, "one by one", rs[i:i+1])(tx.Runs(ids[i]))
			}
			same(s, "among those that are not there", []jobhost.Run{rs[4], rs[2]})(
				tx.Runs(id(77, t0), "", "x", jobhost.RunID(strings.Repeat("g", 32)), rs[4].ID, id(1, t0.Add(time.Hour)), rs[2].ID))
			return nil
		})
	}},
	{"what has not the form of an id is refused when written, and not there when read", func(s *suite) {
		for _, id := range []jobhost.RunID{"", "x", jobhost.RunID(strings.Repeat("A", 32)), jobhost.RunID(strings.Repeat("a", 33))} {
			r := newRun(1, "a", t0)
			r.ID = id
			for what, write := range map[string]func(tx jobhost.Tx) error{
				"PutRuns":       func(tx jobhost.Tx) error { return tx.PutRuns(r) },
				"AppendLog":     func(tx jobhost.Tx) error { return tx.AppendLog(id, []byte("x")) },
				"PutOutput":     func(tx jobhost.Tx) error { return tx.PutOutput(id, []byte("x")) },
				"PutCancel":     func(tx jobhost.Tx) error { return tx.PutCancel("node", id) },
				"PutIdempotent": func(tx jobhost.Tx) error { return tx.PutIdempotent("a", "k", id, t0) },
			} {
				if err := s.st().Update(s.Context(), write); err == nil || jobhost.CodeOf(err) != "" {
					s.Errorf("%s with the id %q: %v, want an error about it", what, id, err)
				}
			}
			s.view(func(tx jobhost.Tx) error {
				same(s, "Runs", []jobhost.Run(nil))(tx.Runs(id))
				same(s, "Pending", []jobhost.Trigger(nil))(tx.Pending(id))
				same(s, "Log", [][]byte(nil))(tx.Log(id))
				same(s, "QueryRuns", []jobhost.Run(nil))(tx.QueryRuns(jobhost.RunQuery{IDs: []jobhost.RunID{id}, Limit: 9}))
				if _, ok, err := tx.Output(id); ok || err != nil {
					s.Errorf("Output of %q: %v, %v", id, ok, err)
				}
				return nil
			})
		}
	}},
	{"open runs are listed by node", func(s *suite) {
		one, two, three := newRun(1, "b", t0), newRun(2, "a", t0), newRun(3, "a", t0)
		two.Node = "node-11"
		over := ended(newRun(4, "a", t0), t0)
		s.update(func(tx jobhost.Tx) error { return tx.PutRuns(one, two, three, over) })
		byID := func(r jobhost.Run) jobhost.RunID { return r.ID }
		check := func(node string, want ...jobhost.Run) {
			s.view(func(tx jobhost.Tx) error {
				got, err := tx.OpenRuns(node)
				same(s, "OpenRuns of "+node, want)(sorted(got, err, byID))
				return nil
			})
		}
		check("", one, two, three)
		check("node-1", one, three)
		check("node-11", two)
		check("node")
		s.update(func(tx jobhost.Tx) error {
			return tx.PutRuns(ended(one, t0.Add(time.Second)), ended(two, t0.Add(time.Second)))
		})
		check("", three)
		check("node-11")
	}},
	{"every end state ends a run", func(s *suite) {
		for i, state := range []jobhost.RunState{jobhost.RunSucceeded, jobhost.RunFailed, jobhost.RunCanceled, jobhost.RunLost} {
			r := newRun(i, "a", t0)
			s.update(func(tx jobhost.Tx) error { return tx.PutRuns(r) })
			r.State, r.EndedAt = state, t0.Add(time.Second)
			s.update(func(tx jobhost.Tx) error { return tx.PutRuns(r) })
			s.view(func(tx jobhost.Tx) error {
				same(s, state.String(), []jobhost.Run{r})(tx.Runs(r.ID))
				same(s, "OpenRuns", []jobhost.Run(nil))(tx.OpenRuns(""))
				return nil
			})
		}
	}},
	{"a log is its chunks in the order they came", func(s *suite) {
		one, two := id(1, t0), id(2, t0)
		var want [][]byte
		for i := range 300 {
			chunk := bytes.Repeat([]byte{byte(i)}, i)
			want = append(want, chunk)
			s.update(func(tx jobhost.Tx) error {
				if i == 7 {
					if err := tx.AppendLog(two, []byte("other")); err != nil {
						return err
					}
				}
				return tx.AppendLog(one, chunk)
			})
		}
		want = append(want, []byte("x"), []byte("y"))
		s.update(func(tx jobhost.Tx) error {
			for _, c := range want[300:] {
				if err := tx.AppendLog(one, c); err != nil {
					return err
				}
			}
			same(s, "own writes", want)(tx.Log(one))
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			same(s, "Log", want)(tx.Log(one))
			same(s, "another", [][]byte{[]byte("other")})(tx.Log(two))
			same(s, "none", [][]byte(nil))(tx.Log(id(3, t0)))
			return nil
		})
	}},
	{"an output is kept apart from its run, empty ones too", func(s *suite) {
		one, two := id(1, t0), id(2, t0)
		large := bytes.Repeat([]byte("\x00output\xff"), 1<<17)
		s.update(func(tx jobhost.Tx) error {
			if err := tx.PutOutput(two, []byte{}); err != nil {
				return err
			}
			return tx.PutOutput(one, large)
		})
		s.view(func(tx jobhost.Tx) error {
			for _, c := range []struct {
				id   jobhost.RunID
				want []byte
				ok   bool
			}{{one, large, true}, {two, nil, true}, {id(3, t0), nil, false}} {
				got, ok, err := tx.Output(c.id)
				if !bytes.Equal(got, c.want) || ok != c.ok || err != nil {
					s.Errorf("Output: %d bytes, %v, %v; want %d, %v", len(got), ok, err, len(c.want), c.ok)
				}
			}
			return nil
		})
	}},
}
