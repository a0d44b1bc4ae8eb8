package host_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// BenchmarkRun is an isolated run: instance, call, end.
func BenchmarkRun(b *testing.B) {
	cfg := host.Defaults()
	cfg.Cache = goCache(b)
	h := newHost(b, cfg, map[string][]byte{
		"small": says("hello"), "go-command": goGuest(b, "command"), "go-reactor": goGuest(b, "reactor", "-buildmode=c-shared"),
	})
	for _, plugin := range []string{"small", "go-command", "go-reactor"} {
		b.Run(plugin, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if out := h.Run(context.Background(), jobhost.Call{Plugin: plugin, Run: sample(`{"do":"echo"}`)}); out.Code != "" {
					b.Fatal(out.Message)
				}
			}
		})
	}
}

// BenchmarkLoad is a host that starts with one plugin in Go.
func BenchmarkLoad(b *testing.B) {
	load := func(b *testing.B, cache string) {
		b.Helper()
		cfg := host.Defaults()
		cfg.Cache = cache
		h := openHost(b, cfg)
		file := filepath.Join(b.TempDir(), "p.wasm")
		write(b, file, goGuest(b, "command"))
		if _, err := h.Load(context.Background(), "p", file); err != nil {
			b.Fatal(err)
		}
		if err := h.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	goGuest(b, "command") // not part of what is measured
	b.Run("cold", func(b *testing.B) {
		for b.Loop() {
			load(b, "")
		}
	})
	b.Run("cached", func(b *testing.B) {
		cache := b.TempDir()
		if err := os.Chmod(cache, 0o700); err != nil {
			b.Fatal(err)
		}
		load(b, cache)
		for b.Loop() {
			load(b, cache)
		}
	})
}
