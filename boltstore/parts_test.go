package boltstore

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	bolt "go.etcd.io/bbolt"

	"github.com/jobhost/jobhost"
)

// bulky is a lot of records with values of many sizes, up to those that need hundreds of parts.
func bulky(tx jobhost.Tx, shift int) error {
	for i, n := range []int{0, 1, 600, 700, 800, 900, 1000, 1100, 2000, 5000, 64 << 10, 1 << 20, 3, 990, 850} {
		name := fmt.Sprintf("job-%02d", i)
		text := strings.Repeat("x", max(0, n+shift))
		data := json.RawMessage(`"` + text + `"`)
		j := jobhost.Job{JobDef: jobhost.NewJob(name, "p")}
		t := testTrigger(name, "t", t0)
		r := testRun(2*i, name, t0)
		over := succeeded(testRun(2*i+1, name, t0), t0)
		j.Data, t.Data, r.Data, over.ErrorMessage = data, data, data, text
		_, err := tx.PutNode(jobhost.Node{ID: name, Host: text})
		if err := errors.Join(err, tx.PutJobs(j), tx.PutTriggers(t), tx.PutRuns(r, over), tx.AppendLog(r.ID, []byte(text)),
			tx.PutOutput(r.ID, []byte(text)), tx.PutValue(name, strings.Repeat("k", 256), []byte(text))); err != nil {
			return err
		}
	}
	return nil
}

func readBulky(tx jobhost.Tx) (all []any, err error) {
	names, e1 := tx.JobNames("", 99)
	js, e2 := tx.Jobs(names...)
	ts, e3 := tx.TriggersOf(names...)
	rs, e4 := tx.QueryRuns(jobhost.RunQuery{Limit: 99})
	ns, e5 := tx.Nodes()
	all, err = []any{names, js, ts, rs, ns}, errors.Join(e1, e2, e3, e4, e5)
	for _, n := range names {
		keys, size, e1 := tx.ValueKeys(n, "")
		v, ok, e2 := tx.Value(n, strings.Repeat("k", 256))
		if size != len(v)+256 {
			e2 = fmt.Errorf("size %d of a value of %d", size, len(v))
		}
		all, err = append(all, keys, size, v, ok), errors.Join(err, e1, e2)
	}
	for _, r := range rs {
		log, e1 := tx.Log(r.ID)
		out, ok, e2 := tx.Output(r.ID)
		again, e3 := tx.Runs(r.ID)
		all, err = append(all, log, out, ok, again), errors.Join(err, e1, e2, e3)
	}
	return all, err
}

func pages(t *testing.T, s *Store) (parts int) {
	t.Helper()
	if err := s.db.View(func(b *bolt.Tx) error {
		parts = b.Bucket([]byte("parts")).Stats().KeyN
		for id := 0; ; id++ {
			p, err := b.Page(id)
			if p == nil || err != nil {
				return err
			}
			if p.OverflowCount != 0 && p.Type != "free" {
				t.Errorf("page %d, a %s, has %d more pages behind it", id, p.Type, p.OverflowCount)
			}
			id += p.OverflowCount
		}
	}); err != nil {
		t.Fatal(err)
	}
	return parts
}

func TestLargeRecordsAreKeptInPartsThatFitIntoPages(t *testing.T) {
	s := fresh(t, Config{})
	var inside, outside []any
	read := func(tx jobhost.Tx, all *[]any) (err error) {
		*all, err = readBulky(tx)
		return err
	}
	for _, shift := range []int{0, 0, -400, 300, -1 << 21} {
		update(t, s, func(tx jobhost.Tx) error {
			if err := bulky(tx, shift); err != nil {
				return err
			}
			return read(tx, &inside)
		})
		parts := pages(t, s)
		view(t, s, func(tx jobhost.Tx) error { return read(tx, &outside) })
		same(t, fmt.Sprintf("with %+d bytes", shift), outside, inside)
		// The logs grow, everything else is replaced.
		if small := shift < -1<<20; !small && parts < 1000 {
			t.Errorf("with %+d bytes there are %d parts, want thousands", shift, parts)
		}
	}
	want := newBulky(t)
	update(t, s, func(tx jobhost.Tx) error {
		for i := range 15 {
			for n := 2 * i; n < 2*i+2; n++ {
				r := testRun(n, fmt.Sprintf("job-%02d", i), t0)
				if err := tx.PutRuns(succeeded(r, t0)); err != nil {
					return err
				}
			}
		}
		_, err := tx.PruneRuns(t0.Add(1), 99)
		return err
	})
	update(t, s, func(tx jobhost.Tx) error { return bulky(tx, 0) })
	view(t, s, func(tx jobhost.Tx) error { return read(tx, &outside) })
	same(t, "put again", outside, want)
	update(t, s, func(tx jobhost.Tx) error {
		names, err := tx.JobNames("", 99)
		for i, n := range names {
			err = errors.Join(err, tx.DeleteNode(n), tx.PutRuns(succeeded(testRun(2*i, n, t0), t0)))
		}
		_, e := tx.PruneRuns(t0.Add(1), 99)
		return errors.Join(err, e, tx.DeleteJobs(names...))
	})
	if parts := pages(t, s); parts != 0 {
		t.Errorf("%d parts are left of deleted records", parts)
	}
}

// same compares first without cmp, which looks at every byte of large values.
func same(t *testing.T, what string, got, want []any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: -got +want\n%.2000s", what, cmp.Diff(got, want))
	}
}

// newBulky is what a store answers that holds nothing else.
func newBulky(t *testing.T) (all []any) {
	t.Helper()
	s := fresh(t, Config{})
	update(t, s, func(tx jobhost.Tx) error { return bulky(tx, 0) })
	view(t, s, func(tx jobhost.Tx) (err error) {
		all, err = readBulky(tx)
		return err
	})
	return all
}

func TestPartsBelongToOneRecord(t *testing.T) {
	s := fresh(t, Config{})
	key := func(n int) string { return strings.Repeat("k", n) }
	update(t, s, func(tx jobhost.Tx) error {
		for _, size := range []int{5000, 3000} { // the second time it is overwritten, in the same transaction
			for n := 1; n <= 3; n++ {
				if err := tx.PutValue("a", key(n), bytes.Repeat([]byte{byte(n)}, size)); err != nil {
					return err
				}
			}
		}
		return tx.PutValue("a", key(2), nil)
	})
	view(t, s, func(tx jobhost.Tx) error {
		for n := 1; n <= 3; n++ {
			v, _, err := tx.Value("a", key(n))
			if want := bytes.Repeat([]byte{byte(n)}, 3000*(n%2)); !bytes.Equal(v, want) || err != nil {
				t.Errorf("%s: got %d bytes, %v; want %d of %d", key(n), len(v), err, len(want), n)
			}
		}
		return nil
	})
	if parts := pages(t, s); parts != 8 {
		t.Errorf("there are %d parts, want 8 of two records", parts)
	}
}

func TestRecordWithoutItsPartsIsSetAside(t *testing.T) {
	var reports []Damage
	s := fresh(t, Config{Report: func(d Damage) { reports = append(reports, d) }})
	r := succeeded(testRun(1, "a", t0), t0)
	update(t, s, func(tx jobhost.Tx) error {
		return errors.Join(tx.PutRuns(r), tx.PutOutput(r.ID, bytes.Repeat([]byte("x"), 5000)))
	})
	raw(t, s, func(b *bolt.Tx) error {
		parts := b.Bucket([]byte("parts"))
		k, _ := parts.Cursor().Last()
		return parts.Delete(bytes.Clone(k))
	})
	for range 2 {
		view(t, s, func(tx jobhost.Tx) error {
			out, ok, err := tx.Output(r.ID)
			if ok || len(out) != 0 {
				t.Errorf("Output: %d bytes, %v; want none", len(out), ok)
			}
			return err
		})
	}
	if len(reports) != 1 || reports[0].Bucket != "outputs" {
		t.Errorf("reports: %+v, want the output", reports)
	}
}
