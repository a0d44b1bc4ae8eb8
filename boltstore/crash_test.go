//go:build unix

package boltstore

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
)

func init() {
	children["commit"] = commitForEver
	children["fill"] = fillToTheLimit
}

var counter = jobhost.TriggerKey{Job: "a", Trigger: "t"}

// bump is one firing of the crash test: it starts the n-th run and ends the one before.
func bump(tx jobhost.Tx) (n int, err error) {
	ts, err := tx.Triggers(counter)
	if err != nil || len(ts) != 1 {
		return 0, fmt.Errorf("triggers: %d, %w", len(ts), err)
	}
	open, err := tx.OpenRuns("")
	if err != nil {
		return 0, err
	}
	for i := range open {
		open[i] = succeeded(open[i], open[i].StartedAt.Add(time.Second))
	}
	t := ts[0]
	t.FiredCount++
	t.Due = t.Due.Add(time.Second)
	t.Ready = t.Due
	r := testRun(t.FiredCount, "a", t.Due)
	if err := tx.PutRuns(append(open, r)...); err != nil {
		return 0, err
	}
	if t.FiredCount%50 == 0 {
		if _, err := tx.PruneJobRuns("a", 200, 100); err != nil {
			return 0, err
		}
	}
	return t.FiredCount, tx.PutTriggers(t)
}

// commitForEver writes a line for each commit, after it.
func commitForEver(path string) {
	s, err := Open(path, Config{})
	if err != nil {
		fmt.Println("error", err)
		return
	}
	for {
		var n int
		if err := s.Update(context.Background(), func(tx jobhost.Tx) (err error) {
			n, err = bump(tx)
			return err
		}); err != nil {
			fmt.Println("error", err)
			return
		}
		fmt.Println(n)
	}
}

func child(t *testing.T, name, path string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), "BOLTSTORE_CHILD="+name, "BOLTSTORE_PATH="+path)
	c.Stderr = os.Stderr
	return c
}

func TestKilledProcessLeavesEveryCommitThatItSaw(t *testing.T) {
	path := filepath.Join(t.TempDir(), "jobhost.db")
	s := open(t, path, Config{})
	update(t, s, func(tx jobhost.Tx) error {
		if err := tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob("a", "p")}); err != nil {
			return err
		}
		return tx.PutTriggers(testTrigger("a", "t", t0))
	})
	shut(t, s)
	for round := range 8 {
		c := child(t, "commit", path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		seen, most := 0, 20+rand.IntN(100)
		for i := 0; lines.Scan(); i++ {
			if seen, err = strconv.Atoi(lines.Text()); err != nil {
				t.Errorf("round %d: the child says %q", round, lines.Text())
				break
			}
			if i == most {
				if err := c.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
		_ = c.Wait() // killed

		s := open(t, path, Config{})
		view(t, s, func(tx jobhost.Tx) error {
			ts, e1 := tx.Triggers(counter)
			if len(ts) != 1 || e1 != nil {
				return fmt.Errorf("triggers: %d, %w", len(ts), e1)
			}
			n := ts[0].FiredCount
			if n != seen && n != seen+1 {
				t.Errorf("round %d: %d commits are there, and the child saw %d", round, n, seen)
			}
			next, e2 := tx.NextReady(jobhost.DueQuery{})
			rs, e3 := tx.QueryRuns(jobhost.RunQuery{Job: "a", Limit: 1000})
			all, e4 := tx.CountRuns(jobhost.RunQuery{})
			for _, err := range []error{e2, e3, e4} {
				if err != nil {
					return err
				}
			}
			if !next.Equal(ts[0].Due) || len(rs) != all || len(rs) < min(n, 200) || rs[0].ID != testID(n, ts[0].Due) || rs[0].State != jobhost.RunRunning {
				t.Errorf("round %d: next %v, %d of %d runs, the newest %+v; want %v and the run of firing %d", round, next, len(rs), all, rs[0], ts[0].Due, n)
			}
			return nil
		})
		shut(t, s)
	}
}

// fillToTheLimit meets the system's limit of a file's size in the middle of commits, and tells how it went.
func fillToTheLimit(path string) {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 3 << 20, Max: 1 << 30}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println("setrlimit:", err)
		return
	}
	s, err := Open(path, Config{})
	if err != nil {
		fmt.Println("open:", err)
		return
	}
	put := func(n int) error {
		return s.Update(context.Background(), func(tx jobhost.Tx) error {
			r := testRun(n, "a", t0)
			if err := tx.PutRuns(r); err != nil {
				return err
			}
			return tx.PutOutput(r.ID, make([]byte, 50<<10))
		})
	}
	n := 0
	for ; n < 1000; n++ {
		if err = put(n); err != nil {
			break
		}
	}
	fmt.Println("full:", jobhost.CodeOf(err))
	for range 3 {
		fmt.Println("still full:", jobhost.CodeOf(put(n)))
	}
	err = s.View(context.Background(), func(tx jobhost.Tx) error {
		count, err := tx.CountRuns(jobhost.RunQuery{})
		_, ok, _ := tx.Output(testID(n, t0))
		fmt.Println("whole:", count == n && n > 10 && !ok, err)
		return err
	})
	fmt.Println("reads go on:", err)
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		fmt.Println("setrlimit:", err)
		return
	}
	fmt.Println("room again:", put(n))
	fmt.Println("closed:", s.Close())
}

func TestFullDiskIsAnErrorUntilThereIsRoom(t *testing.T) {
	t.Run("S-105 the system refuses to make the file larger", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "jobhost.db")
		out, err := child(t, "fill", path).Output()
		full := string(jobhost.StoreFull)
		want := strings.Join([]string{
			"full: " + full, "still full: " + full, "still full: " + full, "still full: " + full, "whole: true <nil>",
			"reads go on: <nil>", "room again: <nil>", "closed: <nil>", "",
		}, "\n")
		if string(out) != want || err != nil {
			t.Errorf("got %v\n%s\nwant\n%s", err, out, want)
		}
		view(t, open(t, path, Config{}), func(tx jobhost.Tx) error {
			n, err := tx.CountRuns(jobhost.RunQuery{})
			if n <= 10 {
				t.Errorf("CountRuns: got %d, want what was committed", n)
			}
			return err
		})
	})
}
