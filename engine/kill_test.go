package engine

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
)

// lifeVariable makes the test binary a process that runs an engine until it is killed; killsVariable says how many kills
// TestKilledAtRandom wants that hit a run in progress.
const (
	lifeVariable  = "JOBHOST_TEST_LIFE"
	killsVariable = "JOBHOST_KILLS"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(lifeVariable); dir != "" {
		live(dir)
		return
	}
	m.Run()
}

// killJobs are jobs of every kind. What the n-th life of the process defines differs a little from what the one before did.
func killJobs(n int) []jobhost.JobDef {
	retried := job("retried", "cron * * * * * *")
	retried.Retry = &jobhost.RetryPolicy{MaxRetries: 2, Delay: 20 * time.Millisecond}
	recovered := jobhost.NewJob("recovered", "p", jobhost.NewTrigger("t", "every 30ms"), jobhost.NewTrigger("u", "every 40ms"))
	recovered.RequestsRecovery = true
	together := jobhost.NewJob("together", "p", jobhost.NewTrigger("t", "cron * * * * * *"), jobhost.NewTrigger("u", "cron * * * * * *"), jobhost.NewTrigger("v", "every 25ms"))
	together.AllowConcurrent = true
	together.Triggers[0].Misfire = jobhost.MisfireRunAll
	skips := job("skips", "cron * * * * * *")
	skips.Triggers[0].Misfire = jobhost.MisfireSkip
	local := job("local", "cron * * * * * *")
	local.RunOnEveryInstance = true
	changing := job("changing", []string{"every 15ms", "every 20ms", "cron * * * * * *"}[n%3])
	defs := []jobhost.JobDef{
		retried, recovered, together, skips, local, changing, job("thrice", fmt.Sprintf("every %dms x3", 10+n)), job("long", "every 5ms"),
		jobhost.NewJob("asked", "p"), jobhost.NewJob("manual", "p"), job("gone", "every 10ms"),
	}
	for i := range defs {
		defs[i].HistoryLimit = 0
	}
	return defs
}

// live is a life of the process: it opens the store in dir, serves, and asks for all kinds of things until it is killed. It
// writes a line to the journal in dir when a run begins and when it ends by itself, which is what the outside world sees.
func live(dir string) {
	check := func(err error) {
		if err != nil {
			fmt.Println(err)
			panic(err)
		}
	}
	_, number, _ := strings.Cut(os.Getenv("JOBHOST_TEST_NODE"), "-")
	n, err := strconv.Atoi(number)
	check(err)
	journal, err := os.OpenFile(filepath.Join(dir, "journal"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	check(err)
	store, err := boltstore.Open(filepath.Join(dir, "jobhost.db"), boltstore.Config{})
	check(err)
	e, err := New(store, journaled{journal}, killConfig())
	check(err)
	ctx := context.Background()
	go func() { check(e.Serve(ctx)) }()
	for e.State() != Serving {
		time.Sleep(time.Millisecond)
	}
	for _, r := range e.Schedule(ctx, killJobs(n)) {
		check(r.Err)
	}
	fmt.Println("serving")
	go func() {
		for {
			_ = e.Trigger(ctx, []jobhost.TriggerRequest{{Job: "manual"}, {Job: "asked"}})
		}
	}()
	for {
		at := time.Now().Add(time.Duration(rand.IntN(20)) * time.Millisecond)
		ids := e.Enqueue(ctx, []jobhost.EnqueueRequest{{Job: "asked", At: at}, {Job: "asked"}, {Job: "asked", At: at.Add(time.Hour)}})
		_ = e.CancelRuns(ctx, []jobhost.RunID{ids[2].Value})
		_ = e.Pause(ctx, []jobhost.Target{{Job: "together", Trigger: "v"}})
		_ = e.Delete(ctx, []jobhost.Name{"gone"})
		time.Sleep(5 * time.Millisecond)
		_ = e.Schedule(ctx, []jobhost.JobDef{job("gone", "every 10ms")})
		_ = e.Resume(ctx, []jobhost.Target{{Job: "together", Trigger: "v"}})
	}
}

func killConfig() Config {
	cfg := Defaults()
	cfg.NodeID = os.Getenv("JOBHOST_TEST_NODE")
	cfg.PollInterval, cfg.MisfireThreshold, cfg.HousekeepingInterval = 20*time.Millisecond, 300*time.Millisecond, 100*time.Millisecond
	cfg.HistoryRetention = 0
	return cfg
}

// journaled is a runner that writes down what it does. A line is one write, so a kill cuts none in two.
type journaled struct{ journal *os.File }

func (j journaled) say(format string, args ...any) {
	_, _ = fmt.Fprintf(j.journal, format, args...) // the check would miss the line
}

func (j journaled) Run(ctx context.Context, c jobhost.Call) jobhost.Outcome {
	j.say("began %s %s/%s@%s %v\n", c.Run.ID, c.Run.Job, c.Run.Trigger, c.Run.ScheduledAt.Format(time.RFC3339Nano), c.Run.Kind)
	out, takes := jobhost.Outcome{}, time.Duration(rand.IntN(4))*time.Millisecond
	switch c.Run.Job {
	case "retried":
		out.Code = "E_BROKEN"
	case "recovered":
		takes = 25 * time.Millisecond
	case "long":
		takes = time.Hour
	case "asked":
		out.Output = []byte(strings.Repeat("x", rand.IntN(20_000)))
		c.Sink.Log(0, "something to keep")
	}
	select {
	case <-time.After(takes):
	case <-ctx.Done():
	}
	j.say("ended %s\n", c.Run.ID)
	return out
}

func (journaled) Plugins(context.Context) ([]jobhost.Plugin, error) {
	return []jobhost.Plugin{{Key: "p", Ready: true}}, nil
}

// TestKilledAtRandom kills a process that runs jobs of every kind with SIGKILL, again and again at random moments, until
// enough of the kills have hit runs in progress: 15, with -short 3, or as many as JOBHOST_KILLS says; `make crash` wants
// 100. After each kill the file must hold for every run one end, or Running on the node that was killed; nothing may have
// fired or run twice; and the reconciliation of the next start must leave nothing stuck.
func TestKilledAtRandom(t *testing.T) {
	want := 15
	if testing.Short() {
		want = 3
	}
	if s := os.Getenv(killsVariable); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatalf("%s is %q, want a number", killsVariable, s)
		}
		want = n
	}
	t.Run("S-99 S-175 FR-11 FR-53 every run has one end and nothing is stuck", func(t *testing.T) {
		dir := t.TempDir()
		hits, kills := 0, 0
		for hits < want {
			if kills++; kills > 3*want+10 {
				t.Fatalf("of %d kills only %d hit a run in progress", kills-1, hits)
			}
			node := fmt.Sprintf("life-%d", kills)
			killOnce(t, dir, node)
			if hit := checkKilled(t, dir, node); hit {
				hits++
			}
			if t.Failed() {
				t.Fatalf("after kill %d, of %s", kills, node)
			}
		}
		t.Logf("%d kills, %d hit runs in progress, %d runs began", kills, hits, len(readJournal(t, dir).began))
	})
}

// killOnce starts a process on the store in dir and kills it a random time after it serves, or now and then before.
func killOnce(t *testing.T, dir, node string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), lifeVariable+"="+dir, "JOBHOST_TEST_NODE="+node)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	after := time.Duration(rand.IntN(250_000)) * time.Microsecond
	if rand.IntN(10) > 0 {
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "serving\n" {
			t.Fatalf("the process says %q, %v", line, err)
		}
	}
	time.Sleep(after)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the process ended by itself")
	}
}

// checkKilled opens the store that a killed node has left and checks it, before and after reconciliation. It reports whether
// a run was in progress.
func checkKilled(t *testing.T, dir, node string) (hit bool) {
	t.Helper()
	store, err := boltstore.Open(filepath.Join(dir, "jobhost.db"), boltstore.Config{Report: func(d boltstore.Damage) { t.Errorf("damaged: %+v", d) }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	w := &world{T: t, cfg: killConfig(), store: store, ctx: t.Context()}
	runs, _ := everything(w)
	began := readJournal(t, dir)
	byID := map[jobhost.RunID]jobhost.Run{}
	for _, r := range runs {
		byID[r.ID] = r
		if !r.State.Ended() {
			hit = true
			is(w, "node of a run in progress", r.Node, node)
		}
		if r.State == jobhost.RunSucceeded && !began.ended[r.ID] {
			t.Errorf("run %s of %q is Succeeded, and its plugin never said so", r.ID, r.Job)
		}
	}
	for id, n := range began.began {
		if _, ok := byID[id]; !ok || n > 1 {
			t.Errorf("run %s was begun %d times, on record: %v", id, n, ok)
		}
	}
	for slot, n := range began.slots {
		if n > 1 {
			t.Errorf("%s was run %d times", slot, n)
		}
	}

	w.cfg.NodeID = "checker"
	if err := w.eng().reconcile(t.Context()); err != nil {
		t.Fatal(err)
	}
	after, triggers := everything(w)
	defs := map[jobhost.Name]jobhost.JobDef{}
	for _, d := range killJobs(0) {
		defs[d.Name] = d
	}
	checkRuns(w, defs, after, triggers)
	for _, r := range after {
		before := byID[r.ID]
		if before.State.Ended() && before.State != r.State || !before.State.Ended() && r.State != jobhost.RunLost {
			t.Errorf("run %s of %q went from %v to %v", r.ID, r.Job, before.State, r.State)
		}
	}
	for _, x := range triggers {
		if x.State == jobhost.TriggerBlocked || x.State == jobhost.TriggerRunning {
			t.Errorf("trigger %v is stuck: %v", x.Key, x.State)
		}
	}
	return hit
}

// seen is what the journal says: how often each run and each scheduled slot began, and which runs ended by themselves.
type seen struct {
	began map[jobhost.RunID]int
	slots map[string]int
	ended map[jobhost.RunID]bool
}

func readJournal(t *testing.T, dir string) seen {
	t.Helper()
	s := seen{map[jobhost.RunID]int{}, map[string]int{}, map[jobhost.RunID]bool{}}
	text, err := os.ReadFile(filepath.Join(dir, "journal"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		id := jobhost.RunID(words[1])
		if words[0] == "ended" {
			s.ended[id] = true
			continue
		}
		s.began[id]++
		if words[3] == "Schedule" {
			s.slots[words[2]]++
		}
	}
	return s
}
