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

func ExampleStore_Backup() {
	dir, err := os.MkdirTemp("", "jobhost")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx, path := context.Background(), filepath.Join(dir, "jobhost.db")
	s, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Update(ctx, func(tx jobhost.Tx) error {
		return tx.PutValue("report", "cursor", []byte("line 7"))
	}); err != nil {
		fmt.Println(err)
	}
	saved := filepath.Join(dir, "saved.db")
	out, err := os.OpenFile(saved, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Backup(ctx, out), out.Close(), s.Close())

	s, err = boltstore.Open(saved, boltstore.Config{ReadOnly: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Export(ctx, os.Stdout), s.Close())
	// Output:
	// <nil> <nil> <nil>
	// {"kind":"store","record":{"format":1}}
	// {"kind":"value","record":{"job":"report","key":"cursor","text":"line 7"}}
	// <nil> <nil>
}

func ExampleCompact() {
	dir, err := os.MkdirTemp("", "jobhost")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()
	path := filepath.Join(dir, "jobhost.db")
	s, err := boltstore.Open(path, boltstore.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = boltstore.Compact(context.Background(), path, nil)
	fmt.Println(boltstore.InUse(err), s.Close())
	c, err := boltstore.Compact(context.Background(), path, nil)
	fmt.Println(c.After <= c.Before, err)
	// Output:
	// true <nil>
	// true <nil>
}
