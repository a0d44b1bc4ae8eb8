//go:build unix

package host_test

import (
	"os"
	"strings"
	"testing"

	"github.com/jobhost/jobhost/host"
)

func TestACacheThatOthersMayUseIsRefused(t *testing.T) {
	cfg := host.Defaults()
	cfg.Cache = t.TempDir()
	if err := os.Chmod(cfg.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := host.New(t.Context(), cfg)
	if err == nil || !strings.Contains(err.Error(), cfg.Cache) || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("New returned %v", err)
	}
}
