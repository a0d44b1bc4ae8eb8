package boltstore

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// damages are ways to spoil a record.
var damages = []struct {
	name  string
	spoil func(v []byte, version int) []byte // version is where that byte is
}{
	{"emptied", func([]byte, int) []byte { return nil }},
	{"cut", func(v []byte, _ int) []byte { return v[:len(v)/2] }},
	{"prolonged", func(v []byte, _ int) []byte { return append(v, 0) }},
	{"overwritten", func(v []byte, _ int) []byte { return slices.Repeat([]byte{0xff}, len(v)) }},
	{"of a newer program", func(v []byte, version int) []byte {
		v[version] = 99
		return v
	}},
}

func TestDamagedRecordIsSetAside(t *testing.T) {
	for _, c := range []struct {
		bucket  string
		version int                                    // where the version is in a record
		read    func(tx jobhost.Tx) (n int, err error) // how many records of the job can be read
	}{
		{"jobs", 0, func(tx jobhost.Tx) (int, error) {
			js, err := tx.Jobs("bad")
			return len(js), err
		}},
		{"triggers", 0, func(tx jobhost.Tx) (int, error) {
			ts, err := tx.TriggersOf("bad")
			return len(ts), err
		}},
		{"open", 0, func(tx jobhost.Tx) (int, error) {
			js, err := tx.Jobs("bad")
			if err != nil || len(js) != 1 {
				return 0, fmt.Errorf("jobs: %d, %w", len(js), err)
			}
			return len(js[0].Open), nil
		}},
		{"runs", 1, func(tx jobhost.Tx) (int, error) {
			rs, err := tx.QueryRuns(jobhost.RunQuery{Job: "bad", States: []jobhost.RunState{jobhost.RunSucceeded}, Limit: 9})
			return len(rs), err
		}},
		{"nodes", 0, func(tx jobhost.Tx) (int, error) {
			ns, err := tx.Nodes()
			return len(ns), err
		}},
		{"keys", 0, func(tx jobhost.Tx) (int, error) {
			_, ok, err := tx.Idempotent("bad", "k", t0)
			return map[bool]int{true: 1}[ok], err
		}},
	} {
		for _, d := range damages {
			t.Run(c.bucket+" "+d.name, func(t *testing.T) {
				var reports []Damage
				s := fresh(t, Config{Report: func(d Damage) { reports = append(reports, d) }})
				update(t, s, func(tx jobhost.Tx) error { return fillJob(tx, "bad") })
				raw(t, s, func(b *bolt.Tx) error {
					records := b.Bucket([]byte(c.bucket))
					k, v := records.Cursor().First()
					return records.Put(slices.Clone(k), d.spoil(slices.Clone(v), c.version))
				})
				update(t, s, func(tx jobhost.Tx) error { return fillJob(tx, "good") })
				for range 2 {
					view(t, s, func(tx jobhost.Tx) error {
						got, err := c.read(tx)
						if want := map[string]int{"nodes": 1, "triggers": 1}[c.bucket]; got != want {
							t.Errorf("%d records are answered, want %d", got, want)
						}
						checkGood(t, tx, c.bucket)
						return err
					})
				}
				if len(reports) != 1 || reports[0].Bucket != c.bucket || reports[0].Err == nil {
					t.Errorf("reports: %+v, want one of bucket %q", reports, c.bucket)
				}
				update(t, s, func(tx jobhost.Tx) error {
					for _, prune := range []func() (int, error){
						func() (int, error) { return tx.PruneRuns(t0.Add(time.Hour), 99) },
						func() (int, error) { return tx.PruneJobRuns("bad", 0, 99) },
						func() (int, error) { return tx.PruneIdempotent(t0.Add(2*time.Hour), 99) },
					} {
						if _, err := prune(); err != nil {
							return err
						}
					}
					if err := fillJob(tx, "bad"); err != nil {
						return err
					}
					return tx.DeleteJobs("bad")
				})
				view(t, s, func(tx jobhost.Tx) error {
					ts, err := tx.Due(jobhost.DueQuery{Now: t0.Add(time.Hour), Limit: 9})
					if len(ts) != 1 || ts[0].Key.Job != "good" {
						t.Errorf("Due after the job was put again and deleted: %+v, want that of the other job", ts)
					}
					return err
				})
				if len(reports) != 1 {
					t.Errorf("%d reports, want one: %+v", len(reports), reports)
				}
			})
		}
	}
}

func fillJob(tx jobhost.Tx, job jobhost.Name) error {
	over := succeeded(testRun(len(job), job, t0), t0.Add(time.Second))
	blocked := testTrigger(job, "blocked", time.Time{})
	blocked.State = jobhost.TriggerBlocked
	for _, err := range []error{
		tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob(job, "p")}),
		tx.PutTriggers(testTrigger(job, "aaa", t0), blocked),
		tx.PutRuns(over, testRun(len(job)+10, job, t0.Add(time.Minute))),
		tx.AppendLog(over.ID, []byte("log")),
		tx.PutIdempotent(job, "k", over.ID, t0.Add(time.Hour)),
	} {
		if err != nil {
			return err
		}
	}
	_, err := tx.PutNode(jobhost.Node{ID: job, Host: "h", Version: "v1.2.3", Started: t0, Beat: t0})
	return err
}

// checkGood wants every answer about the job whose records are all right.
func checkGood(t *testing.T, tx jobhost.Tx, spoiled string) {
	t.Helper()
	js, e1 := tx.Jobs("bad", "good")
	due, e2 := tx.Due(jobhost.DueQuery{Now: t0.Add(time.Hour), Limit: 9})
	next, e3 := tx.NextReady(jobhost.DueQuery{NotJobs: map[jobhost.Name]bool{"good": true}})
	open, e4 := tx.OpenRuns("")
	rs, e5 := tx.QueryRuns(jobhost.RunQuery{Limit: 9})
	all, e6 := tx.Runs(testID(3, t0), testID(13, t0.Add(time.Minute)), testID(4, t0), testID(14, t0.Add(time.Minute)))
	_, ok, e7 := tx.Idempotent("good", "k", t0)
	for _, err := range []error{e1, e2, e3, e4, e5, e6, e7} {
		if err != nil {
			t.Fatal(err)
		}
	}
	one := func(bucket string) int { return map[bool]int{true: 1, false: 2}[bucket == spoiled] }
	got := []any{len(js), len(due), next.IsZero(), len(open), len(rs), len(all), ok}
	want := []any{one("jobs"), one("triggers"), spoiled == "triggers", one("open"), one("open") + one("runs"), one("open") + one("runs"), true}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("with a damaged record: -got +want\n%s", d)
	}
}

func TestDamagedKeysAreSetAside(t *testing.T) {
	for _, bucket := range []string{"ready", "blocked", "open", "runs", "jobruns", "cancels", "expiry", "pending"} {
		for _, key := range []string{"\x00", "bad", "bad\x00", "bad\x00\x01\x02", "\x00\x00\x00\x04good", "\x00\x00\x00\x00bad\x00\x05"} {
			t.Run(fmt.Sprintf("%s %q", bucket, key), func(t *testing.T) {
				s := fresh(t, Config{Report: func(Damage) {}})
				raw(t, s, func(b *bolt.Tx) error { return b.Bucket([]byte(bucket)).Put([]byte(key), []byte("x")) })
				update(t, s, func(tx jobhost.Tx) error { return fillJob(tx, "bad") })
				update(t, s, func(tx jobhost.Tx) error { return fillJob(tx, "good") })
				view(t, s, func(tx jobhost.Tx) error {
					checkGood(t, tx, "")
					_, err := tx.Blocked("bad", 9)
					return err
				})
				update(t, s, func(tx jobhost.Tx) error {
					if n, err := tx.PruneRuns(t0.Add(time.Hour), 1); n != 1 || err != nil {
						return fmt.Errorf("PruneRuns: %d, %w", n, err)
					}
					if n, err := tx.PruneJobRuns("good", 0, 9); n > 1 || err != nil {
						return fmt.Errorf("PruneJobRuns: %d, %w", n, err)
					}
					if n, err := tx.PruneIdempotent(t0.Add(time.Hour), 9); n < 2 || err != nil {
						return fmt.Errorf("PruneIdempotent: %d, %w", n, err)
					}
					if _, err := tx.TakeCancels("good"); err != nil {
						return err
					}
					return tx.DeleteJobs("bad", "good")
				})
			})
		}
	}
}

// An entry of the ready index whose trigger is gone or says otherwise must neither be returned nor wake anybody.
func TestReadyEntryThatDisagreesWithItsTriggerIsSetAside(t *testing.T) {
	var reports []Damage
	s := fresh(t, Config{Report: func(d Damage) { reports = append(reports, d) }})
	update(t, s, func(tx jobhost.Tx) error { return tx.PutTriggers(testTrigger("a", "t", t0.Add(time.Hour))) })
	raw(t, s, func(b *bolt.Tx) error {
		stale := putReadyKey(nil, jobhost.DefaultPriority, t0.UnixMicro(), jobhost.TriggerKey{Job: "a", Trigger: "t"})
		return b.Bucket([]byte("ready")).Put(stale, noOneShot)
	})
	view(t, s, func(tx jobhost.Tx) error {
		ts, e1 := tx.Due(jobhost.DueQuery{Now: t0.Add(time.Minute), Limit: 9})
		next, e2 := tx.NextReady(jobhost.DueQuery{})
		if len(ts) != 0 || !next.Equal(t0.Add(time.Hour)) || e1 != nil || e2 != nil {
			t.Errorf("got %v, %v, %v, %v; want nothing due before the hour", ts, next, e1, e2)
		}
		return nil
	})
	if len(reports) != 1 || reports[0].Bucket != "ready" {
		t.Errorf("reports: %+v, want the entry", reports)
	}
}
