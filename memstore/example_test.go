package memstore_test

import (
	"context"
	"fmt"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/memstore"
)

func Example() {
	s := memstore.New(memstore.Config{Shared: true})
	ctx := context.Background()
	if err := s.Update(ctx, func(tx jobhost.Tx) error {
		return tx.PutJobs(jobhost.Job{JobDef: jobhost.NewJob("report", "mailer"), Source: jobhost.SourceRuntime})
	}); err != nil {
		fmt.Println(err)
	}
	if err := s.View(ctx, func(tx jobhost.Tx) error {
		names, err := tx.JobNames("", 10)
		fmt.Println(names)
		return err
	}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Shared(), s.Close())
	// Output:
	// [report]
	// true <nil>
}
