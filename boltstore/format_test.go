package boltstore

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

var updateGolden = flag.Bool("update", false, "write golden files, and a file of today's format if there is none")

// exported is what a store says it holds.
func exported(t testing.TB, s *Store) string {
	t.Helper()
	var b bytes.Buffer
	if err := s.Export(t.Context(), &b); err != nil {
		t.Fatalf("Export: %v", err)
	}
	return b.String()
}

func golden(t *testing.T, path, got string) {
	t.Helper()
	if *updateGolden {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(got, string(want)); d != "" {
		t.Errorf("%s; if the change is meant, run go test ./boltstore -update (-got +want):\n%s", path, d)
	}
}

// everything is a store with a record of each kind, and some of their forms.
func everything(tx jobhost.Tx) error {
	j := jobhost.Job{JobDef: jobhost.NewJob("report", "mailer"), Source: jobhost.SourceOverridden, Paused: true, PauseReason: "moving"}
	j.Data, j.Description, j.Timeout = []byte(`{"to":"a<b@example.com","n":1.50}`), "Sends a report", 90*time.Second
	j.AllowConcurrent, j.RequestsRecovery, j.HistoryLimit = true, true, 7
	j.Fingerprint = strings.Repeat("0f", 32)
	j.Retry = &jobhost.RetryPolicy{MaxRetries: 3, Delay: time.Second, Exponential: true, MaxDelay: time.Hour}
	local := jobhost.Job{JobDef: jobhost.NewJob("local", "p"), Source: jobhost.SourceFile}
	local.RunOnEveryInstance = true

	daily := testTrigger("report", "daily", t0.Add(time.Hour))
	daily.Schedule, daily.Misfire, daily.StartDeadline, daily.Priority = "cron 0 0 3 * * * tz=Europe/Berlin", jobhost.MisfireSkip, time.Minute, -4
	daily.Data, daily.Description, daily.FiredCount, daily.LastFired = []byte(`{"full":true}`), "at night", 12, t0.Add(-time.Hour)
	daily.Refused = jobhost.Refusals{Skipped: 1, Blocked: 2, Deadline: 3, Last: "late", At: t0.Add(time.Microsecond)}
	often := testTrigger("report", "often", time.Time{})
	often.State, often.Due, often.RunID, often.Paused, often.PauseReason = jobhost.TriggerRunning, time.Time{}, testID(3, t0), true, "because"
	again := testTrigger("report", "retry-1", t0.Add(time.Minute))
	again.OneShot = &jobhost.OneShot{Kind: jobhost.KindRetry, Trigger: "daily", Attempt: 2, RetryOf: testID(1, t0), Data: []byte(`{"a":null}`)}
	manual := testTrigger("report", "manual-1", t0)
	manual.OneShot = &jobhost.OneShot{Kind: jobhost.KindManual, RunID: testID(9, t0), Attempt: 1}

	failed := testRun(1, "report", t0)
	failed.State, failed.EndedAt = jobhost.RunFailed, t0.Add(1500*time.Millisecond)
	failed.ErrorCode, failed.ErrorMessage = jobhost.TimedOut, "it took\ntoo long"
	failed.Digest, failed.Fuel, failed.PeakMemory, failed.Data = strings.Repeat("ab", 32), 1<<40, 1<<20, []byte(`{"x":"é"}`)
	enqueued := succeeded(testRun(2, "report", t0.Add(time.Minute)), t0.Add(2*time.Minute))
	enqueued.ID, enqueued.Kind, enqueued.Trigger = testID(2, t0), jobhost.KindManual, ""
	open := testRun(3, "report", t0.Add(2*time.Minute))
	open.ID, open.Kind, open.RecoveryOf = testID(3, t0), jobhost.KindRecovery, testID(5, t0)

	_, err := tx.PutNode(jobhost.Node{ID: "host:1:ABCDEFGH", Host: "host", Version: "v1.2.3", Started: t0, Beat: t0.Add(time.Second), FileJobs: []string{"local"}})
	return errors.Join(err,
		tx.PutJobs(j, local),
		tx.PutTriggers(daily, often, again, manual),
		tx.PutRuns(failed, enqueued, open),
		tx.AppendLog(failed.ID, []byte(`{"seq":1,"t":"2026-01-05T08:00:00.5+08:00","level":4,"msg":"<up> & \"away\""}`+"\n"+
			`{"seq":2,"t":"2026-01-05T00:00:01Z","level":0,"msg":"done"}`+"\n")),
		tx.AppendLog(failed.ID, []byte("no entry\n\xff")),
		tx.PutOutput(failed.ID, []byte(`{"sent":3}`)),
		tx.PutOutput(enqueued.ID, []byte{0xff, 0, 1}),
		tx.PutOutput(open.ID, []byte{}),
		tx.PutCancel("host:1:ABCDEFGH", open.ID),
		tx.PutIdempotent("report", "once only", enqueued.ID, t0.Add(24*time.Hour)),
		tx.PutValue("report", "cursor", []byte("line 7\n")),
		tx.PutValue("report", "raw", []byte{0x80}),
		tx.PutValue("", "leader", []byte(strings.Repeat("long ", 400))),
	)
}

// Every format that was ever written stays readable. The files in testdata are not written again once they are there.
func TestOldFilesAreRead(t *testing.T) {
	newest := filepath.Join("testdata", fmt.Sprintf("format-%d.db", today().format))
	if _, err := os.Stat(newest); *updateGolden && errors.Is(err, fs.ErrNotExist) {
		s := open(t, newest, Config{})
		update(t, s, everything)
		shut(t, s)
		if _, err := Compact(t.Context(), newest, nil); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join("testdata", "format-*.db"))
	if err != nil || len(files) != int(today().format) {
		t.Fatalf("there are %q, %v; want one of each format, see -update", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			path := copyOf(t, file)
			s := open(t, path, Config{})
			golden(t, strings.TrimSuffix(file, ".db")+".golden", exported(t, s))
			update(t, s, func(tx jobhost.Tx) error { // the indices are there too
				due, err := tx.Due(jobhost.DueQuery{Now: t0.Add(time.Hour), Limit: 9})
				if len(due) != 3 {
					t.Errorf("Due: %d triggers, want the one-shots and the daily one", len(due))
				}
				rs, e2 := tx.Runs(testID(1, t0), testID(2, t0), testID(3, t0))
				if len(rs) != 3 {
					t.Errorf("Runs: %d, want 3", len(rs))
				}
				n, e3 := tx.PruneJobRuns("report", 0, 9)
				if n != 2 {
					t.Errorf("PruneJobRuns: %d, want 2", n)
				}
				return errors.Join(err, e2, e3, tx.DeleteJobs("report", "local"))
			})
			shut(t, s)
			view(t, open(t, path, Config{ReadOnly: true}), func(tx jobhost.Tx) error {
				names, err := tx.JobNames("", 9)
				if len(names) != 0 {
					t.Errorf("JobNames: %q, want none", names)
				}
				return err
			})
		})
	}
}

func copyOf(t *testing.T, file string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "jobhost.db")
	if err := os.WriteFile(path, read(t, file), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// later is a layout as a program to come could have: it gives each job a description, and then renames a bucket's key.
func later(fail error) layout {
	return layout{format: 3, steps: map[uint64]func(*bolt.Tx) error{
		1: func(b *bolt.Tx) error {
			jobs := b.Bucket([]byte(buckets[bJobs]))
			c := jobs.Cursor()
			for k, v := c.First(); k != nil; k, v = c.Next() {
				j, err := decodeJob(string(k), v)
				if err != nil {
					return err
				}
				j.Description += ", migrated"
				var e enc
				e.job(&j)
				if err := jobs.Put(bytes.Clone(k), e); err != nil {
					return err
				}
			}
			return nil
		},
		2: func(b *bolt.Tx) error {
			if fail != nil {
				return fail
			}
			return b.Bucket([]byte(buckets[bMeta])).Put([]byte("second"), []byte("step"))
		},
	}}
}

func TestOlderFormatIsMigratedOnce(t *testing.T) {
	path := copyOf(t, filepath.Join("testdata", "format-1.db"))
	for range 2 {
		s, err := openAs(path, Config{}, later(nil))
		if err != nil {
			t.Fatal(err)
		}
		view(t, s, func(tx jobhost.Tx) error {
			js, err := tx.Jobs("report")
			if len(js) != 1 || js[0].Description != "Sends a report, migrated" {
				t.Errorf("Jobs: %+v, want one that was migrated once", js)
			}
			return err
		})
		if st, err := s.Stats(t.Context()); st.Format != 3 || err != nil {
			t.Errorf("Stats: format %d, %v; want 3", st.Format, err)
		}
		raw(t, s, func(b *bolt.Tx) error {
			meta := b.Bucket([]byte(buckets[bMeta]))
			if got := meta.Get(formatKey); !bytes.Equal(got, []byte{3}) {
				t.Errorf("format: %v, want 3", got)
			}
			if meta.Get([]byte("second")) == nil {
				t.Error("the second step was left out")
			}
			return nil
		})
		shut(t, s)
	}
	if _, err := Open(path, Config{}); err == nil || !strings.Contains(err.Error(), "format 3, and this program knows 1; use a newer jobhost") {
		t.Errorf("Open with the older program: %v; want it refused", err)
	}
	if _, err := Compact(t.Context(), path, nil); err == nil || !strings.Contains(err.Error(), "use a newer jobhost") {
		t.Errorf("Compact with the older program: %v; want it refused", err)
	}
}

func TestFailedMigrationLeavesTheFileAsItWas(t *testing.T) {
	gap := later(nil)
	delete(gap.steps, 1)
	for name, c := range map[string]struct {
		layout layout
		want   string
	}{
		"a step fails after another": {later(errors.New("no luck")), "the file of format 2 cannot be brought to 3: no luck"},
		"there is no way":            {gap, "format 1, and this program knows no way from there to 3; use an older jobhost first"},
	} {
		t.Run(name, func(t *testing.T) {
			path := copyOf(t, filepath.Join("testdata", "format-1.db"))
			before := read(t, path)
			_, err := openAs(path, Config{}, c.layout)
			if jobhost.CodeOf(err) != jobhost.StoreUnreachable || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Open: %v; want %s and %q", err, jobhost.StoreUnreachable, c.want)
			}
			if !bytes.Equal(read(t, path), before) {
				t.Error("the file has changed")
			}
			golden(t, filepath.Join("testdata", "format-1.golden"), exported(t, open(t, path, Config{})))
		})
	}
}

func TestLookingMigratesNothing(t *testing.T) {
	path := copyOf(t, filepath.Join("testdata", "format-1.db"))
	before := read(t, path)
	_, err := openAs(path, Config{ReadOnly: true}, later(nil))
	if err == nil || !strings.Contains(err.Error(), "the file has format 1, and this program reads 3; start the host on it once") {
		t.Errorf("Open: %v; want it refused", err)
	}
	if !bytes.Equal(read(t, path), before) {
		t.Error("the file has changed")
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
