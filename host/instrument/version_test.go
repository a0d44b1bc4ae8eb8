package instrument_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/jobhost/jobhost/host/instrument"
)

var update = flag.Bool("update", false, "write testdata/version.golden")

// TestOutputBelongsToVersion fails when the output changes and the version does not, since then caches of outputs would
// go on with the old ones.
func TestOutputBelongsToVersion(t *testing.T) {
	h := sha256.New()
	modules := [][]byte{
		emptyLoop(), sumMemory(), bubbleSort(), fib(), smallCalls(), smallCopies(), bulkModule(), trapping(),
		growing([][2]uint32{{1, 2}, {3, 0}, {4, 1<<32 - 1}}),
	}
	for seed := range uint64(20) {
		bin, _ := generate(seed)
		modules = append(modules, bin)
	}
	for _, bin := range modules {
		r, err := instrument.Instrument(bin, instrument.Config{Image: 1, Late: 1})
		if err != nil {
			t.Fatal(err)
		}
		h.Write(r.Module)
		h.Write(r.Image.Data)
	}
	got := fmt.Sprintf("version %d: %x\n", instrument.Version, h.Sum(nil))
	file := filepath.Join("testdata", "version.golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the output is\n%snot\n%sas in %s; raise Version if the test's modules are the same, then run it with -update", got, want, file)
	}
}
