package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost"
)

// TestTheTour runs the shipped jobhost.yaml with the example plugins and their data, as `make run` does.
func TestTheTour(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	tour, err := os.ReadFile(filepath.Join(root, "jobhost.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFolder(t, string(tour))
	if err := os.CopyFS(filepath.Join(f.dir, "examples-data"), os.DirFS(filepath.Join(root, "examples-data"))); err != nil {
		t.Fatal(err)
	}
	reports := filepath.Join(f.dir, "out", "reports")
	if err := os.MkdirAll(reports, 0o750); err != nil {
		t.Fatal(err)
	}
	for _, plugin := range []string{"hello", "csv-report", "linkcheck", "runaway"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(f.dir, "plugins", plugin+".wasm"))
		if plugin == "linkcheck" {
			cmd.Args = append(cmd.Args, "-buildmode=c-shared")
		}
		cmd.Args = append(cmd.Args, "./plugins/examples/"+plugin)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", plugin, err, out)
		}
		if err := os.Chmod(filepath.Join(f.dir, "plugins", plugin+".wasm"), 0o644); err != nil { // as make plugins does
			t.Fatal(err)
		}
	}
	p := f.serve()
	p.await("greeting", jobhost.RunQuery{Job: "hello", States: []jobhost.RunState{jobhost.RunSucceeded}}, some)
	ask := func(job jobhost.Name) jobhost.Run {
		t.Helper()
		for {
			r, err := jobhost.One(p.api.Trigger(t.Context(), []jobhost.TriggerRequest{{Job: job}}))
			switch {
			case err == nil:
				return r
			case jobhost.CodeOf(err) != jobhost.JobRunning: // its own schedule may be first
				t.Fatal(err)
			}
		}
	}
	if r := ask("orders.report"); r.State != jobhost.RunSucceeded {
		t.Errorf("the report ended as %s", brief([]jobhost.Run{r}))
	}
	if made, err := filepath.Glob(filepath.Join(reports, "*.md")); err != nil || len(made) == 0 {
		t.Errorf("there is no report: %v, %v", made, err)
	}
	if r := ask("runaway"); r.ErrorCode != jobhost.TimedOut {
		t.Errorf("the runaway job ended with %q", r.ErrorCode)
	}
	if r := ask("handbook.links"); r.ErrorCode != "LINKCHECK_DEAD_LINKS" {
		t.Errorf("the dead links ended with %q: %s", r.ErrorCode, r.ErrorMessage)
	}
	p.stop()
}
