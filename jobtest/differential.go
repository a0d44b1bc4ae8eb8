package jobtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"github.com/jobhost/jobhost"
)

// Differential plays random transactions on a model and on a subject, some of which fail, and reopens the subject
// where it can be. Every answer must be the same.
func Differential(t *testing.T, model, subject Opener) {
	t.Helper()
	rapid.Check(t, func(rt *rapid.T) {
		p := &play{rt: rt, runs: map[jobhost.RunID]jobhost.Run{}}
		tb := oneCheck{t, rt}
		m, s := model.Open(tb), subject.Open(tb)
		for range rapid.IntRange(1, 12).Draw(rt, "transactions") {
			if subject.Reopen != nil && rapid.IntRange(0, 9).Draw(rt, "reopen") == 0 {
				s = subject.Reopen(tb, s)
			}
			p.transaction(m, s)
		}
		all := []op{p.readAll()}
		p.compare("at the end", p.answer(m.View, all, nil), p.answer(s.View, all, nil))
	})
}

// oneCheck closes what was opened for one check when that ends.
type oneCheck struct {
	testing.TB
	rt *rapid.T
}

func (c oneCheck) Cleanup(f func()) { c.rt.Cleanup(f) }

// op does something in a transaction and returns what it was told. It may be called several times.
type op struct {
	what string
	do   func(tx jobhost.Tx) (any, error)
}

// play draws operations that keep to the contract.
type play struct {
	rt   *rapid.T
	runs map[jobhost.RunID]jobhost.Run // that were put
}

var errRollback = errors.New("rolled back on purpose")

func (p *play) transaction(m, s jobhost.Store) {
	before := maps.Clone(p.runs)
	var ops []op
	for range rapid.IntRange(1, 8).Draw(p.rt, "operations") {
		ops = append(ops, p.op())
	}
	var fail error
	if p.int("fail", 5) == 0 {
		fail, p.runs = errRollback, before
	}
	ops = append(ops, p.readAll())
	p.compare(fmt.Sprintf("fail %v", fail), p.answer(m.Update, ops, fail), p.answer(s.Update, ops, fail))
}

type transact func(ctx context.Context, f func(jobhost.Tx) error) error

func (p *play) answer(in transact, ops []op, fail error) (all []any) {
	err := in(p.rt.Context(), func(tx jobhost.Tx) error {
		all = all[:0]
		for _, o := range ops {
			v, err := o.do(tx)
			if err != nil {
				return fmt.Errorf("%s: %w", o.what, err)
			}
			all = append(all, o.what, v)
		}
		return fail
	})
	if !errors.Is(err, fail) {
		p.rt.Fatalf("got %v, want %v", err, fail)
	}
	return all
}

func (p *play) compare(what string, model, subject []any) {
	if d := diff(subject, model); d != "" {
		p.rt.Fatalf("%s: -subject +model\n%s", what, d)
	}
}
