package host_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// plugins returns a folder with one plugin, which says hello.
func plugins() string {
	dir, err := os.MkdirTemp("", "plugins-")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hello.wasm"), says("hello"), 0o600); err != nil {
		log.Fatal(err)
	}
	return dir
}

// remove removes the folder.
func remove(dir string) {
	if err := os.RemoveAll(dir); err != nil {
		log.Fatal(err)
	}
}

func Example() {
	ctx := context.Background()
	cfg := host.Defaults()
	cfg.Dir = plugins()
	cfg.Grants = []host.Grant{{Job: "greet", Plugin: "hello", MaxMemory: 16 << 20}}
	h, err := host.New(ctx, cfg)
	if err != nil {
		log.Fatal(err)
	}
	if err := h.Ready(ctx, "hello"); err != nil {
		log.Fatal(err)
	}
	out := h.Run(ctx, jobhost.Call{Plugin: "hello", Run: jobhost.Run{Job: "greet", Attempt: 1}})
	fmt.Printf("%q %s\n", out.Code, out.Output)
	if err := h.Close(ctx); err != nil {
		log.Fatal(err)
	}
	remove(cfg.Dir)
	// Output: "" hello
}

func ExampleHost_Inspect() {
	ctx := context.Background()
	h, err := host.New(ctx, host.Defaults())
	if err != nil {
		log.Fatal(err)
	}
	dir := plugins()
	in, err := h.Inspect(filepath.Join(dir, "hello.wasm"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(in.Kind, in.MinMemory, in.Problems)
	if err := h.Close(ctx); err != nil {
		log.Fatal(err)
	}
	remove(dir)
	// Output: reactor 131072 []
}
