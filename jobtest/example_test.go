package jobtest_test

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
	"github.com/jobhost/jobhost/memstore"
)

// A process dies at its second commit, and another goes on with what it left.
func ExampleCrashAt() {
	kept := memstore.New(memstore.Config{})
	s := jobtest.CrashAt(kept, 2, jobtest.Before)
	for _, name := range []jobhost.Name{"first", "second", "third"} {
		err := s.Update(context.Background(), func(tx jobhost.Tx) error {
			return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob(name, "p")})
		})
		fmt.Printf("%s %q\n", name, jobhost.CodeOf(err))
	}
	<-s.Crashed()
	_ = kept.View(context.Background(), func(tx jobhost.Tx) error {
		names, err := tx.JobNames("", 10)
		fmt.Println(names)
		return err
	})
	// Output:
	// first ""
	// second "SCHEDULING_UNAVAILABLE_003"
	// third "SCHEDULING_UNAVAILABLE_003"
	// [first]
}
