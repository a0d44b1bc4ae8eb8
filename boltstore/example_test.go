package boltstore_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/boltstore"
)

func Example() {
	dir, err := os.MkdirTemp("", "jobhost")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := boltstore.Open(filepath.Join(dir, "jobhost.db"), boltstore.Config{
		MaxSize: 1 << 30,
		Report:  func(d boltstore.Damage) { fmt.Println("cannot read a record of", d.Bucket, d.Err) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
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
	fmt.Println(s.Close())
	// Output:
	// [report]
	// <nil>
}
