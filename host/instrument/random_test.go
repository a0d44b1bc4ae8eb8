package instrument_test

import (
	"bytes"
	"testing"

	"github.com/tetratelabs/wazero"

	"github.com/jobhost/jobhost/host/instrument"
)

// seen is all that can be seen of a run.
type seen struct {
	outcome string
	result  uint64
	sum     uint64
	called  int
}

// FuzzGeneratedModulesDoTheSame runs random modules as they are, counting their instructions, and instrumented in
// several ways, and compares all that can be seen. What was charged must be at least what was run, and the same whatever
// the period and the engine are.
func FuzzGeneratedModulesDoTheSame(f *testing.F) {
	for i := range uint64(150) {
		f.Add(i, i*37%1000)
	}
	f.Fuzz(func(t *testing.T, seed, budget uint64) {
		bin, counting := generate(seed)
		budget %= 1000
		look := func(bin []byte, cfg wazero.RuntimeConfig) (seen, []byte, *guest) {
			g := startPlain(t, bin, cfg)
			defer g.release()
			results, err := g.call("run", budget)
			s := seen{outcome: outcomeOf(err), sum: g.ExportedGlobal("sum").Get(), called: g.called}
			if err == nil {
				s.result = results[0]
			}
			memory, _ := g.Memory().Read(0, g.Memory().Size())
			return s, bytes.Clone(memory), g
		}
		want, wantMemory, _ := look(bin, wazero.NewRuntimeConfigCompiler())
		same, sameMemory, g := look(counting, wazero.NewRuntimeConfigCompiler())
		if want != same || !bytes.Equal(wantMemory, sameMemory) {
			t.Fatalf("counting changed the module: %+v, want %+v", same, want)
		}
		run := g.ExportedGlobal("counter").Get()
		charged := uint64(0)
		for i, v := range []struct {
			engine string
			cfg    instrument.Config
		}{
			{"compiler", instrument.Config{}},
			{"compiler", instrument.Config{Period: 1, Skip: instrument.Stack}},
			{"compiler", instrument.Config{Skip: instrument.Meter}},
			{"interpreter", instrument.Config{Period: 50}},
			{"compiler", instrument.Config{Late: 1}},
			{"interpreter", instrument.Config{Late: 1, Skip: instrument.Meter}},
		} {
			r, err := instrument.Instrument(bin, v.cfg)
			if err != nil {
				t.Fatal(err)
			}
			got, memory, g := look(r.Module, engines[v.engine]())
			if got != want {
				t.Fatalf("%s %+v: %+v, want %+v", v.engine, v.cfg, got, want)
			}
			if !bytes.Equal(memory, wantMemory) {
				t.Fatalf("%s %+v: the memory differs", v.engine, v.cfg)
			}
			if v.cfg.Skip&instrument.Meter != 0 {
				continue
			}
			if g.ticks < g.called && got.outcome == "ok" {
				t.Fatalf("%d ticks for %d host calls", g.ticks, g.called)
			}
			if u := usedBy(g); i == 0 {
				charged = u
			} else if u != charged {
				t.Fatalf("%s %+v: %d used, want %d as before", v.engine, v.cfg, u, charged)
			}
		}
		const small = 40 // run itself may be too small for a check
		if charged+small < run {
			t.Fatalf("%d charged for %d instructions", charged, run)
		}
	})
}
