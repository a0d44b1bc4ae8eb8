//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/robfig/cron/v3"

	"github.com/jobhost/jobhost/bench/internal/child"
)

// riverPeer is River on an empty PostgreSQL database. What it uses of processor time is without the server's.
type riverPeer struct {
	pool     *pgxpool.Pool
	client   *river.Client[pgx.Tx]
	worker   *riverWorker
	settings riverSettings
	way      riverWay
	started  bool
}

// riverSettings are those that decide how fast River is.
type riverSettings struct {
	workers  int
	cooldown time.Duration // between two fetches
	poll     time.Duration
}

var (
	// riverDefault has the intervals that River has, and the 100 workers of its examples.
	riverDefault = riverSettings{workers: 100, cooldown: river.FetchCooldownDefault, poll: river.FetchPollIntervalDefault}
	// riverTuned has the workers of River's own benchmark, and fetches almost without a break.
	riverTuned = riverSettings{workers: 2000, cooldown: 5 * time.Millisecond, poll: 50 * time.Millisecond}
)

// riverWay is how a job gets its instant.
type riverWay bool

const (
	riverScheduled riverWay = false // a row with the instant, for jobs that run once
	riverPeriodic  riverWay = true  // a periodic job, which River inserts at the instant
)

type riverArgs struct {
	I int `json:"i"`
}

// Kind implements river.JobArgs.
func (riverArgs) Kind() string { return "noop" }

type riverWorker struct {
	river.WorkerDefaults[riverArgs]

	start func(i int)
}

// Work implements river.Worker.
func (w *riverWorker) Work(_ context.Context, j *river.Job[riverArgs]) error {
	w.start(j.Args.I)
	return nil
}

func openRiver(settings riverSettings, way riverWay) func(order) (scheduler, error) {
	return func(o order) (scheduler, error) {
		pool, err := openDatabase(o.Server.Address)
		if err != nil {
			return nil, err
		}
		p := &riverPeer{pool: pool, worker: &riverWorker{start: func(int) {}}, settings: settings, way: way}
		m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
		if err != nil {
			return nil, err
		}
		if _, err := m.Migrate(context.Background(), rivermigrate.DirectionUp, nil); err != nil {
			return nil, err
		}
		return p, p.newClient()
	}
}

// openDatabase opens an empty database, on the server in the folder.
func openDatabase(dir string) (*pgxpool.Pool, error) {
	cfg, err := pgxpool.ParseConfig(fmt.Sprintf("host=%s user=bench dbname=postgres", dir))
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = 20
	return pgxpool.NewWithConfig(context.Background(), cfg)
}

func (p *riverPeer) newClient() (err error) {
	workers := river.NewWorkers()
	river.AddWorker(workers, p.worker)
	p.client, err = river.NewClient(riverpgxv5.New(p.pool), &river.Config{
		Logger:            slog.New(slog.DiscardHandler),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: p.settings.workers}},
		FetchCooldown:     p.settings.cooldown,
		FetchPollInterval: p.settings.poll,
		Workers:           workers,
	})
	return err
}

func (p *riverPeer) insert(at []time.Time) error {
	jobs := make([]river.InsertManyParams, len(at))
	for i, t := range at {
		jobs[i] = river.InsertManyParams{Args: riverArgs{i}, InsertOpts: &river.InsertOpts{ScheduledAt: t}}
	}
	_, err := p.client.InsertManyFast(context.Background(), jobs)
	return err
}

func (p *riverPeer) begin() error {
	if p.started {
		return nil
	}
	p.started = true
	return p.client.Start(context.Background())
}

// settle waits until this client leads: only the leader looks after what is scheduled.
func (p *riverPeer) settle() error {
	for began := time.Now(); time.Since(began) < patience; time.Sleep(20 * time.Millisecond) {
		var leaders int
		if err := p.pool.QueryRow(context.Background(), "SELECT count(*) FROM river_leader").Scan(&leaders); err != nil {
			return err
		}
		if leaders == 1 {
			time.Sleep(500 * time.Millisecond) // its services start
			return nil
		}
	}
	return errors.New("no leader was elected")
}

func (p *riverPeer) at(instants []time.Time, start func(int)) error {
	p.worker.start = start
	if p.way == riverScheduled {
		return p.insert(instants)
	}
	jobs := make([]*river.PeriodicJob, len(instants))
	for i, at := range instants {
		jobs[i] = river.NewPeriodicJob(riverOnce(at), func() (river.JobArgs, *river.InsertOpts) { return riverArgs{i}, nil }, nil)
	}
	_, err := p.client.PeriodicJobs().AddManySafely(jobs)
	return err
}

// riverOnce is a schedule with one instant; River wants one more, which is far away.
type riverOnce time.Time

func (o riverOnce) Next(after time.Time) time.Time {
	if at := time.Time(o); at.After(after) {
		return at
	}
	return after.AddDate(1, 0, 0)
}

func (p *riverPeer) backlog(n int, start func(int)) error {
	if p.way == riverPeriodic {
		return child.Skip("as river")
	}
	p.worker.start = start
	return p.insert(make([]time.Time, n)) // without an instant: now
}

// exclusive has one worker: within a queue there is no other way to keep runs apart in River's open version.
func (p *riverPeer) exclusive(n int, start func(int)) (time.Time, error) {
	p.settings.workers = 1
	if err := errors.Join(p.newClient(), p.backlog(n, start)); err != nil {
		return time.Time{}, err
	}
	return time.Now(), p.begin()
}

func (p *riverPeer) recurring(n int) error {
	jobs := make([]*river.PeriodicJob, n)
	for i := range jobs {
		s, err := cron.ParseStandard(recurringSpec(i, time.Now()))
		if err != nil {
			return err
		}
		jobs[i] = river.NewPeriodicJob(s, func() (river.JobArgs, *river.InsertOpts) { return riverArgs{i}, nil }, nil)
	}
	_, err := p.client.PeriodicJobs().AddManySafely(jobs)
	return err
}

func (p *riverPeer) recorded(n int) (bool, error) {
	var done int
	err := p.pool.QueryRow(context.Background(), "SELECT count(*) FROM river_job WHERE state = 'completed'").Scan(&done)
	return done == n, err
}

func (p *riverPeer) close() error {
	defer p.pool.Close()
	if !p.started {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return p.client.StopAndCancel(ctx)
}
