package host_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jobhost/jobhost/host"
)

// imageUse counts the files and mappings of images that this process has.
func imageUse(t *testing.T) (files, mappings int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range fds {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", fd.Name())); err == nil && strings.Contains(to, "jobhost-image") {
			files++
		}
	}
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	return files, strings.Count(string(maps), "jobhost-image")
}

func TestAnImageGoesWithItsModule(t *testing.T) {
	cfg := host.Defaults()
	cfg.Dir = t.TempDir()
	version := func(n int) string { return fmt.Sprint("version ", n) }
	file := filepath.Join(cfg.Dir, "p.wasm")
	write(t, file, saysFromImage(version(0)))
	h := openHost(t, cfg)
	for n := range 3 {
		replace(t, file, saysFromImage(version(n)))
		rescan(t, h)
		wantOutput(t, h, "p", version(n))
		if files, mappings := imageUse(t); files != 1 || mappings < 2 {
			t.Errorf("version %d: %d files and %d mappings of images, want one, and at least its own mapping and that of the run", n, files, mappings)
		}
	}
	if err := h.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if files, mappings := imageUse(t); files != 0 || mappings != 0 {
		t.Errorf("%d files and %d mappings of images are left of a host that is closed", files, mappings)
	}
}
