package engine

import (
	"context"
	"iter"
	"log/slog"
	"sync"

	"github.com/jobhost/jobhost"
)

// eventBuffer is how many events a slow reader may be behind before it misses some.
const eventBuffer = 1024

// events hands on what has happened to those who listen. Publishing never blocks.
type events struct {
	log   *slog.Logger
	sinks sync.WaitGroup

	mu        sync.Mutex
	listeners map[*listener]struct{}
}

type listener struct {
	queue  chan jobhost.Event
	missed int // since the last one that it got
}

func (v *events) listen() *listener {
	l := &listener{queue: make(chan jobhost.Event, eventBuffer)}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.listeners == nil {
		v.listeners = map[*listener]struct{}{}
	}
	v.listeners[l] = struct{}{}
	return l
}

// rest yields what is queued, without waiting for more.
func (l *listener) rest() iter.Seq[jobhost.Event] {
	return func(yield func(jobhost.Event) bool) {
		for {
			select {
			case e := <-l.queue:
				if !yield(e) {
					return
				}
			default:
				return
			}
		}
	}
}

func (v *events) leave(l *listener) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.listeners, l)
}

// wanted reports whether anybody listens.
func (v *events) wanted() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.listeners) > 0
}

func (v *events) publish(list []jobhost.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for l := range v.listeners {
		for _, e := range list {
			select {
			case l.queue <- e:
			default:
				l.missed++
			}
		}
		if l.missed > 0 {
			v.log.Warn("a listener is too slow and misses events", slog.Int("missed", l.missed))
			l.missed = 0
		}
	}
}

// feed gives a sink its events until over is closed, and then what is still queued. A sink that fails or panics is logged.
func (v *events) feed(sink jobhost.EventSink, l *listener, over <-chan struct{}) {
	defer v.leave(l)
	for {
		select {
		case e := <-l.queue:
			v.give(sink, e)
		case <-over:
			for e := range l.rest() {
				v.give(sink, e)
			}
			return
		}
	}
}

func (v *events) give(sink jobhost.EventSink, e jobhost.Event) {
	defer func() {
		if p := recover(); p != nil {
			v.log.Error("an event sink panicked", slog.String("topic", string(e.Topic)), slog.Any("panic", p))
		}
	}()
	if err := sink(e); err != nil {
		v.log.Error("an event sink failed", slog.String("topic", string(e.Topic)), slog.Any("err", err))
	}
}

// Events yields what happens on this instance from the call on. See [jobhost.Scheduler].
func (e *Engine) Events(ctx context.Context) iter.Seq2[jobhost.Event, error] {
	l := e.events.listen()
	unhook := context.AfterFunc(ctx, func() { e.events.leave(l) })
	return func(yield func(jobhost.Event, error) bool) {
		defer unhook()
		defer e.events.leave(l)
		for {
			select {
			case ev := <-l.queue:
				if !yield(ev, nil) {
					return
				}
			case <-ctx.Done():
				yield(jobhost.Event{}, context.Cause(ctx))
				return
			case <-e.stopped:
				for ev := range l.rest() {
					if !yield(ev, nil) {
						return
					}
				}
				return
			}
		}
	}
}

var endTopics = map[jobhost.RunState]jobhost.Topic{
	jobhost.RunSucceeded: jobhost.TopicRunSucceeded,
	jobhost.RunFailed:    jobhost.TopicRunFailed,
	jobhost.RunCanceled:  jobhost.TopicRunCanceled,
	jobhost.RunLost:      jobhost.TopicRunLost,
}

// runEvent is what a topic says of a run.
func runEvent(topic jobhost.Topic, r jobhost.Run) jobhost.Event {
	ev := jobhost.Event{
		Topic: topic, Time: r.StartedAt, Job: r.Job, Trigger: r.Trigger, Run: r.ID, Kind: r.Kind, Attempt: r.Attempt, RetryOf: r.RetryOf,
		Node: r.Node, At: r.ScheduledAt, StartedAt: r.StartedAt, EndedAt: r.EndedAt, ErrorCode: r.ErrorCode,
	}
	if !r.EndedAt.IsZero() {
		ev.Time = r.EndedAt
	}
	return ev
}

// endEvent says how a run ended.
func (t *turn) endEvent(r jobhost.Run) jobhost.Event {
	ev := runEvent(endTopics[r.State], r)
	ev.Time = t.endOf(r)
	return ev
}

// followEvent says that a retry or a recovery of a run was planned.
func (t *turn) followEvent(r jobhost.Run, one jobhost.Trigger) jobhost.Event {
	ev := runEvent(jobhost.TopicRunRetry, r)
	ev.Time = t.endOf(r)
	if one.OneShot.Kind == jobhost.KindRecovery {
		ev.Topic = jobhost.TopicRunRecovery
	}
	ev.At = one.Due
	return ev
}

// tell notes an event for the time after the commit.
func (t *turn) tell(ev jobhost.Event) {
	if t.heard {
		t.events = append(t.events, ev)
	}
}
