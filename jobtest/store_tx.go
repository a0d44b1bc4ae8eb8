package jobtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/jobhost/jobhost"
)

var txCases = []storeCase{
	{"an error of the closure comes back as it is and changes nothing", func(s *suite) {
		s.update(func(tx jobhost.Tx) error { return fillAll(tx, "before") })
		before := everything(s)
		boom := errors.New("boom")
		err := s.st().Update(s.Context(), func(tx jobhost.Tx) error {
			if err := fillAll(tx, "after"); err != nil {
				return err
			}
			if err := deleteAll(tx, "before"); err != nil {
				return err
			}
			return boom
		})
		if err != boom { //nolint:errorlint // as it is
			s.Errorf("Update: %v, want %v itself", err, boom)
		}
		if d := diff(everything(s), before); d != "" {
			s.Errorf("after the rollback: -got +want\n%s", d)
		}
		if err := s.st().View(s.Context(), func(jobhost.Tx) error { return boom }); err != boom { //nolint:errorlint // as it is
			s.Errorf("View: %v, want %v itself", err, boom)
		}
	}},
	{"what one transaction writes it sees, in point reads and in lists", func(s *suite) {
		s.update(func(tx jobhost.Tx) error { return fillAll(tx, "before") })
		var inside []any
		s.update(func(tx jobhost.Tx) error {
			if err := fillAll(tx, "after"); err != nil {
				return err
			}
			if err := deleteAll(tx, "before"); err != nil {
				return err
			}
			inside = answers(s, tx)
			return nil
		})
		if d := diff(inside, everything(s)); d != "" {
			s.Errorf("-inside +afterwards\n%s", d)
		}
	}},
	{"S-104 what is returned and what is given are copies", func(s *suite) {
		given := newCopied()
		s.update(given.put)
		given.scribble()
		s.view(func(tx jobhost.Tx) error {
			newCopied().check(s, tx)
			readCopied(s, tx).scribble()
			newCopied().check(s, tx)
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			readCopied(s, tx).scribble()
			newCopied().check(s, tx)
			return nil
		})
		s.update(func(tx jobhost.Tx) error {
			given := newCopied()
			if err := tx.PutTriggers(given.triggers...); err != nil {
				return err
			}
			given.scribble()
			return nil
		})
		s.view(func(tx jobhost.Tx) error {
			newCopied().check(s, tx)
			return nil
		})
	}},
	{"S-106 a context that has ended is an error, and nothing changes", func(s *suite) {
		ctx, cancel := context.WithCancel(s.Context())
		cancel()
		called := false
		f := func(tx jobhost.Tx) error {
			called = true
			return nil
		}
		if err := s.st().Update(ctx, f); !errors.Is(err, context.Canceled) {
			s.Errorf("Update: %v, want %v", err, context.Canceled)
		}
		if err := s.st().View(ctx, f); !errors.Is(err, context.Canceled) {
			s.Errorf("View: %v, want %v", err, context.Canceled)
		}
		if called {
			s.Error("the closure was called")
		}
	}},
	{"Update is serial where transactions lock the same job, and no View sees half of one", func(s *suite) {
		const writers, rounds = 8, 25
		key := jobhost.TriggerKey{Job: "a", Trigger: "t"}
		s.update(func(tx jobhost.Tx) error {
			return errors.Join(tx.PutJobs(newJob("a")), tx.PutTriggers(newTrigger("a", "t", 5, t0)))
		})
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range rounds {
					err := s.st().Update(s.Context(), func(tx jobhost.Tx) error {
						if _, err := tx.Jobs("a"); err != nil {
							return err
						}
						ts, err := tx.Triggers(key)
						if err != nil {
							return err
						}
						ts[0].FiredCount++
						started := t0.Add(time.Duration(ts[0].FiredCount) * time.Second)
						return errors.Join(tx.PutTriggers(ts...), tx.PutRuns(newRun(w*rounds+i, "a", started)))
					})
					if err != nil {
						s.Errorf("Update: %v", err)
					}
				}
			})
			wg.Go(func() {
				for range rounds {
					var fired, open int
					if err := s.st().View(s.Context(), func(tx jobhost.Tx) (err error) {
						fired, open, err = firedAndOpen(tx, key)
						return err
					}); err != nil || fired != open {
						s.Errorf("View: %d firings and %d runs, %v", fired, open, err)
					}
				}
			})
		}
		wg.Wait()
		s.view(func(tx jobhost.Tx) error {
			fired, open, err := firedAndOpen(tx, key)
			if fired != writers*rounds || open != fired {
				s.Errorf("at the end: %d firings and %d runs, want %d", fired, open, writers*rounds)
			}
			return err
		})
	}},
	{"a View is no place to write", func(s *suite) {
		s.update(func(tx jobhost.Tx) error { return fillAll(tx, "before") })
		before := everything(s)
		_ = s.st().View(s.Context(), func(tx jobhost.Tx) error { return tx.PutJobs(newJob("x")) })
		_ = s.st().View(s.Context(), func(tx jobhost.Tx) error { return deleteAll(tx, "before") })
		if d := diff(everything(s), before); d != "" {
			s.Errorf("-got +want\n%s", d)
		}
	}},
	{"whether nodes share a store does not change", func(s *suite) {
		shared := s.st().Shared()
		s.update(func(tx jobhost.Tx) error { return fillAll(tx, "before") })
		if s.st().Shared() != shared {
			s.Errorf("Shared was %v and is %v", shared, !shared)
		}
	}},
}

// firedAndOpen reads two numbers that every Update changes together.
func firedAndOpen(tx jobhost.Tx, key jobhost.TriggerKey) (fired, open int, err error) {
	ts, err := tx.Triggers(key)
	if err != nil || len(ts) != 1 {
		return 0, 0, fmt.Errorf("triggers: %d, %w", len(ts), err)
	}
	rs, err := tx.OpenRuns("")
	return ts[0].FiredCount, len(rs), err
}
