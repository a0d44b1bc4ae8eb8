package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/engine"
	"github.com/jobhost/jobhost/memstore"
)

func TestAHostThatWasThereIsWaitedFor(t *testing.T) {
	broke := &jobhost.Error{Code: jobhost.NotServing, Msg: "broke off"}
	absent := &jobhost.Error{Code: jobhost.NotServing, Msg: "cannot reach", Err: &net.OpError{Op: "dial", Err: errors.New("refused")}}
	for _, c := range []struct {
		name     string
		first    error // of the first call, after which it is absent for three seconds
		answered bool
		want     error
		took     time.Duration
	}{
		{"it was never there", absent, false, absent, 0},
		{"it answered and broke off", broke, true, nil, 3 * time.Second},
		{"it broke off before it answered", broke, false, nil, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, calls := time.Now(), 0
				err := (&cli{err: io.Discard}).patiently(t.Context(), func() (bool, error) {
					calls++
					switch {
					case calls == 1:
						return c.answered, c.first
					case time.Since(began) < 3*time.Second:
						return false, absent
					}
					return true, nil
				})
				if !errors.Is(err, c.want) || time.Since(began) != c.took {
					t.Errorf("%v after %v; want %v after %v", err, time.Since(began), c.want, c.took)
				}
			})
		})
	}
}

func TestAHostThatIsStartingIsWaitedFor(t *testing.T) {
	e, err := engine.New(memstore.New(memstore.Config{}), &compiling{}, engine.Defaults())
	if err != nil {
		t.Fatal(err)
	}
	starting := (&node{engine: e}).starting()
	if starting == nil {
		t.Fatal("a host that has not started does not say so")
	}
	other := errors.New("other")
	for _, c := range []struct {
		name  string
		limit time.Duration // of the context
		until time.Duration // when the answer becomes another one
		want  error
		took  time.Duration
		said  bool
	}{
		{"it is there", time.Hour, 0, nil, 0, false},
		{"another error", time.Hour, 0, other, 0, false},
		{"it comes", time.Hour, 3 * time.Second, nil, 3 * time.Second, true},
		{"it comes and answers badly", time.Hour, 3 * time.Second, other, 3 * time.Second, true},
		{"it does not come", time.Hour, time.Hour, starting, patience + 200*time.Millisecond, true},
		{"nobody waits so long", time.Second, time.Hour, context.DeadlineExceeded, time.Second, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.limit)
				defer cancel()
				var said strings.Builder
				began := time.Now()
				got := (&cli{err: &said}).onceStarted(ctx, func() error {
					if time.Since(began) < c.until {
						return joined([]error{fmt.Errorf("asking: %w", starting)}) // as commands wrap it
					}
					return c.want
				})
				if !errors.Is(got, c.want) || time.Since(began) != c.took {
					t.Errorf("%v after %v; want %v after %v", got, time.Since(began), c.want, c.took)
				}
				if text := said.String(); c.said != (text == "the host is starting; waiting up to 1m for it\n") || !c.said && text != "" {
					t.Errorf("it says %q", text)
				}
			})
		})
	}
	if isStarting(&jobhost.Error{Code: jobhost.NotServing, Msg: "the scheduler is Stopping"}) {
		t.Error("a host that stops is taken for one that starts")
	}
}
