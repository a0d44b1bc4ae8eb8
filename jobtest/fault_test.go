package jobtest_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

func put(s jobhost.Store, name jobhost.Name) error {
	return s.Update(context.Background(), func(tx jobhost.Tx) error {
		return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob(name, "p")})
	})
}

func names(t *testing.T, s jobhost.Store) (names []jobhost.Name) {
	t.Helper()
	if err := s.View(t.Context(), func(tx jobhost.Tx) (err error) {
		names, err = tx.JobNames("", 99)
		return err
	}); err != nil {
		t.Fatalf("View: %v", err)
	}
	return names
}

func TestTwiceCallsAClosureTwiceAndKeepsTheSecond(t *testing.T) {
	mem := memstore.New(memstore.Config{})
	calls := 0
	err := jobtest.Twice(mem).Update(t.Context(), func(tx jobhost.Tx) error {
		calls++
		if got, err := tx.JobNames("", 9); len(got) != 0 || err != nil {
			t.Errorf("call %d sees %v, %v; want nothing", calls, got, err)
		}
		return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob([]jobhost.Name{"first", "second"}[calls-1], "p")})
	})
	if err != nil || calls != 2 || !slices.Equal(names(t, mem), []jobhost.Name{"second"}) {
		t.Errorf("got %v after %d calls, and jobs %v; want the second of 2", err, calls, names(t, mem))
	}
}

func TestTwiceReturnsTheClosuresOwnError(t *testing.T) {
	boom := errors.New("boom")
	calls := 0
	err := jobtest.Twice(memstore.New(memstore.Config{})).Update(t.Context(), func(jobhost.Tx) error {
		calls++
		return boom
	})
	if err != boom || calls != 1 { //nolint:errorlint // as it is
		t.Errorf("got %v after %d calls, want %v after 1", err, calls, boom)
	}
}

func TestAStoreCrashesWhenItIsTold(t *testing.T) {
	mem := memstore.New(memstore.Config{})
	s := jobtest.CrashAt(mem, 100, jobtest.Before)
	if err := put(s, "a"); err != nil {
		t.Fatal(err)
	}
	s.Crash()
	s.Crash() // it cannot crash twice
	<-s.Crashed()
	if err := put(s, "b"); jobhost.CodeOf(err) != jobhost.StoreUnreachable || s.Commits() != 1 {
		t.Errorf("after the crash: %v and %d commits, want %s and 1", err, s.Commits(), jobhost.StoreUnreachable)
	}
	if got := names(t, mem); !slices.Equal(got, []jobhost.Name{"a"}) {
		t.Errorf("the store below has %v, want [a]", got)
	}
}

func TestCrashAtFailsAtACommitAndFromThenOn(t *testing.T) {
	for _, c := range []struct {
		name string
		when jobtest.When
		want []jobhost.Name
	}{
		{"before the commit", jobtest.Before, []jobhost.Name{"a"}},
		{"after the commit", jobtest.After, []jobhost.Name{"a", "b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			mem := memstore.New(memstore.Config{})
			s := jobtest.CrashAt(jobtest.Twice(mem), 2, c.when)
			if err := put(s, "a"); err != nil {
				t.Fatalf("first commit: %v", err)
			}
			boom := errors.New("boom")
			if err := s.Update(t.Context(), func(jobhost.Tx) error { return boom }); err != boom { //nolint:errorlint // as it is
				t.Errorf("an Update that fails by itself: %v, want %v", err, boom)
			}
			select {
			case <-s.Crashed():
				t.Fatal("crashed too early")
			default:
			}
			for _, name := range []jobhost.Name{"b", "c"} {
				if err := put(s, name); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
					t.Errorf("putting %s: %v, want %s", name, err, jobhost.StoreUnreachable)
				}
			}
			<-s.Crashed()
			if err := s.View(t.Context(), func(jobhost.Tx) error { return nil }); jobhost.CodeOf(err) != jobhost.StoreUnreachable {
				t.Errorf("View: %v, want %s", err, jobhost.StoreUnreachable)
			}
			if got := names(t, mem); !slices.Equal(got, c.want) {
				t.Errorf("the store below has %v, want %v", got, c.want)
			}
			if s.Commits() != 1 {
				t.Errorf("Commits: got %d, want 1", s.Commits())
			}
		})
	}
}

func TestSlowCommitsTakeTimeOneAfterTheOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := jobtest.Slow(memstore.New(memstore.Config{}), time.Second)
		start := time.Now()
		done := make(chan error)
		for _, name := range []jobhost.Name{"a", "b", "c"} {
			go func() { done <- put(s, name) }()
		}
		for i := range 3 {
			if err := <-done; err != nil {
				t.Errorf("Update: %v", err)
			}
			if took := time.Since(start); took != time.Duration(i+1)*time.Second {
				t.Errorf("commit %d was known after %v", i+1, took)
			}
		}
		if got := names(t, s); len(got) != 3 || time.Since(start) != 3*time.Second {
			t.Errorf("View: %v after %v, want all at once", got, time.Since(start))
		}
	})
}

func TestSlowStopsWaitingWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := jobtest.Slow(memstore.New(memstore.Config{}), time.Hour)
		first := make(chan error)
		go func() { first <- put(s, "a") }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Update(ctx, func(jobhost.Tx) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Update: %v, want %v", err, context.DeadlineExceeded)
		}
		if err := <-first; err != nil {
			t.Errorf("the first Update: %v", err)
		}
	})
}

func TestFlakyCommitsAndSaysItDoesNotKnow(t *testing.T) {
	mem := memstore.New(memstore.Config{})
	s := jobtest.Flaky(mem, 2)
	want := []jobhost.Code{"", jobhost.StoreUnreachable, "", jobhost.StoreUnreachable}
	for i, name := range []jobhost.Name{"a", "b", "c", "d"} {
		if err := put(s, name); jobhost.CodeOf(err) != want[i] {
			t.Errorf("putting %s: %v, want code %q", name, err, want[i])
		}
	}
	if got := names(t, mem); !slices.Equal(got, []jobhost.Name{"a", "b", "c", "d"}) {
		t.Errorf("the store below has %v, want all four", got)
	}
}

func TestSuitePassesThroughEveryDecorator(t *testing.T) {
	open := func(around func(jobhost.Store) jobhost.Store) jobtest.Opener {
		return jobtest.Opener{Open: func(testing.TB) jobhost.Store { return around(memstore.New(memstore.Config{})) }}
	}
	t.Run("Twice", func(t *testing.T) { jobtest.Store(t, open(jobtest.Twice)) })
	t.Run("CrashAt, never", func(t *testing.T) {
		jobtest.Store(t, open(func(s jobhost.Store) jobhost.Store { return jobtest.CrashAt(s, 0, jobtest.After) }))
	})
	t.Run("Slow by nothing", func(t *testing.T) {
		jobtest.Store(t, open(func(s jobhost.Store) jobhost.Store { return jobtest.Slow(s, 0) }))
	})
}
