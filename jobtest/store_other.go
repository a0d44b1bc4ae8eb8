package jobtest

import (
	"strings"
	"time"

	"github.com/jobhost/jobhost"
)

var otherCases = []storeCase{
	{"a node's record is put, replaced and deleted", func(s *suite) {
		a := jobhost.Node{ID: "a", Host: "host", Version: "v1", Started: t0, Beat: t0.Add(time.Second)}
		b := jobhost.Node{ID: "b", Started: t0}
		put := func(n jobhost.Node, want bool) {
			s.update(func(tx jobhost.Tx) error {
				same(s, "existed", want)(tx.PutNode(n))
				return nil
			})
		}
		check := func(want ...jobhost.Node) {
			s.view(func(tx jobhost.Tx) error {
				got, err := tx.Nodes()
				same(s, "Nodes", want)(sorted(got, err, func(n jobhost.Node) string { return n.ID }))
				return nil
			})
		}
		check()
		put(b, false)
		put(a, false)
		a.Beat = t0.Add(time.Hour)
		put(a, true)
		check(a, b)
		s.update(func(tx jobhost.Tx) error { return tx.DeleteNode("b") })
		s.update(func(tx jobhost.Tx) error { return tx.DeleteNode("not-there") })
		check(a)
		put(b, false)
	}},
	{"S-107 a cancel request is delivered once, to its node only", func(s *suite) {
		byID := func(id jobhost.RunID) jobhost.RunID { return id }
		s.update(func(tx jobhost.Tx) error {
			for _, c := range []struct {
				node string
				n    int
			}{{"node", 2}, {"node", 1}, {"node-1", 3}, {"nod", 4}, {"node", 2}} {
				if err := tx.PutCancel(c.node, id(c.n, t0)); err != nil {
					return err
				}
			}
			return nil
		})
		take := func(node string, want ...jobhost.RunID) {
			s.update(func(tx jobhost.Tx) error {
				got, err := tx.TakeCancels(node)
				same(s, "TakeCancels of "+node, want)(sorted(got, err, byID))
				return nil
			})
		}
		take("other")
		take("node", id(1, t0), id(2, t0))
		take("node")
		take("node-1", id(3, t0))
		take("nod", id(4, t0))
		s.update(func(tx jobhost.Tx) error { return tx.PutCancel("node", id(1, t0)) })
		take("node", id(1, t0))
	}},
	{"an idempotency key stands for a run of its job until it expires", func(s *suite) {
		until := t0.Add(time.Hour)
		s.update(func(tx jobhost.Tx) error {
			if err := tx.PutIdempotent("a", "key", id(1, t0), until); err != nil {
				return err
			}
			return tx.PutIdempotent("a.b", "key", id(2, t0), until.Add(time.Hour))
		})
		check := func(job jobhost.Name, key string, now time.Time, want jobhost.RunID) {
			s.Helper()
			s.view(func(tx jobhost.Tx) error {
				got, ok, err := tx.Idempotent(job, key, now)
				if got != want || ok != (want != "") || err != nil {
					s.Errorf("Idempotent %s %s at %v: %q, %v, %v; want %q", job, key, now, got, ok, err, want)
				}
				return nil
			})
		}
		check("a", "key", t0, id(1, t0))
		check("a", "key", until.Add(-time.Microsecond), id(1, t0))
		check("a", "key", until, "")
		check("a.b", "key", until, id(2, t0))
		check("a", "ke", t0, "")
		check("b", "key", t0, "")
		s.update(func(tx jobhost.Tx) error { return tx.PutIdempotent("a", "key", id(3, t0), until.Add(2*time.Hour)) })
		check("a", "key", until, id(3, t0))
		s.update(func(tx jobhost.Tx) error {
			same(s, "nothing has expired", 0)(tx.PruneIdempotent(until, 9))
			same(s, "one has expired", 1)(tx.PruneIdempotent(until.Add(time.Hour), 9))
			return nil
		})
		check("a", "key", t0, id(3, t0))
		check("a.b", "key", t0, "")
		s.update(func(tx jobhost.Tx) error {
			for i, k := range []string{"", "x", "\x00/ü", strings.Repeat("k", 255)} {
				if err := tx.PutIdempotent("b", k, id(i, t0), t0); err != nil {
					return err
				}
			}
			same(s, "a batch of none", 0)(tx.PruneIdempotent(t0, 0))
			same(s, "a batch", 3)(tx.PruneIdempotent(t0, 3))
			same(s, "the rest", 1)(tx.PruneIdempotent(t0, 3))
			return nil
		})
		check("a", "key", t0, id(3, t0))
	}},
	{"values are kept per job, counted and listed by prefix", func(s *suite) {
		values := map[string]string{"a": "1", "a/b": "", "a/c": "\x00\xff", "b": strings.Repeat("v", 64<<10), "\xff\x00": "x", strings.Repeat("k", 256): "long"}
		want, size := []string{"a", "a/b", "a/c", "b", strings.Repeat("k", 256), "\xff\x00"}, 0
		for k, v := range values {
			size += len(k) + len(v)
		}
		s.update(func(tx jobhost.Tx) error {
			for k, v := range values {
				if err := tx.PutValue("a", k, []byte(v)); err != nil {
					return err
				}
			}
			return tx.PutValue("a.b", "a/x", []byte("other"))
		})
		list := func(prefix string, keys []string, size int) {
			s.Helper()
			s.view(func(tx jobhost.Tx) error {
				got, n, err := tx.ValueKeys("a", prefix)
				same(s, "ValueKeys "+prefix, keys)(got, err)
				if n != size {
					s.Errorf("size with prefix %q: got %d, want %d", prefix, n, size)
				}
				return nil
			})
		}
		list("", want, size)
		list("a", want[:3], size)
		list("a/", want[1:3], size)
		list("z", nil, size)
		list("\xff", want[5:], size)
		s.update(func(tx jobhost.Tx) error {
			if err := tx.PutValue("a", "b", []byte("short")); err != nil {
				return err
			}
			if err := tx.PutValue("a", "not-there", nil); err != nil {
				return err
			}
			return tx.PutValue("a", "a/c", nil)
		})
		list("", []string{"a", "a/b", "b", want[4], want[5]}, size-64<<10+len("short")-len("a/c")-2)
		s.view(func(tx jobhost.Tx) error {
			for _, c := range []struct {
				job  jobhost.Name
				key  string
				want string
				ok   bool
			}{{"a", "a", "1", true}, {"a", "a/b", "", true}, {"a", "a/c", "", false}, {"a", "b", "short", true}, {"a.b", "a", "", false}, {"a.b", "a/x", "other", true}} {
				got, ok, err := tx.Value(c.job, c.key)
				if string(got) != c.want || ok != c.ok || err != nil {
					s.Errorf("Value %s %s: %q, %v, %v; want %q, %v", c.job, c.key, got, ok, err, c.want, c.ok)
				}
			}
			return nil
		})
	}},
}
