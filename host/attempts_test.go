package host

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTwoDeathsDuringItsCompilationMakeAModuleRefused(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	c, err := openCache(t.Context(), dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	const digest = "0123"
	die := func(name string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(c.dir, digest+"."+name+attemptMark), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	count := func(want int) {
		t.Helper()
		if n, err := c.deaths(digest); n != want || err != nil {
			t.Errorf("%d deaths, %v; want %d", n, err, want)
		}
	}
	count(0)
	first := c.begin(t.Context(), digest)
	second := c.begin(t.Context(), digest) // as another process would, with the same cache
	if checksModes {
		count(0)
	}
	first()
	second()
	count(0)

	die("a")
	count(1)
	if n, err := c.deaths("4567"); n != 0 || err != nil {
		t.Errorf("another module has %d deaths, %v", n, err)
	}
	c.begin(t.Context(), digest)() // it went well
	count(0)

	die("a")
	die("b")
	_, err = c.deaths(digest)
	if err == nil || !strings.Contains(err.Error(), "the host died 2 times") || !strings.Contains(err.Error(), filepath.Join(c.dir, digest+".*.compiling")) {
		t.Errorf("after two deaths: %v", err)
	}
	for _, file := range c.marks(digest) {
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
	}
	count(0)

	c.begin(t.Context(), digest)
	c.forgive(t.Context()) // as a stop of the host does
	if left := c.marks(digest); len(left) > 0 {
		t.Errorf("a stop left %v", left)
	}
}
