//go:build unix

package host_test

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/host"
)

// Also a whole guest reaches nothing outside: not where names in its folder are swapped, nor where the folder itself is a link
// to the outside when a run begins. Such a run fails, since the outside is the host's own.
func TestRunsReachNothingThroughASwap(t *testing.T) {
	const runs, times = 8, 20
	patience := time.Now().Add(time.Minute) // while others keep this machine busy
	s := host.NewSiege(t)
	cfg := host.Defaults()
	cfg.Private = []string{s.Outside}
	h := caller(t, cfg, host.Grant{})
	grant := host.Grant{Job: "reports.nightly", Plugin: "calls", Dirs: []host.Dir{{Host: s.Inside, Guest: "/data", Mode: host.ReadWrite}}}
	for err := h.SetGrants([]host.Grant{grant}); err != nil; err = h.SetGrants([]host.Grant{grant}) {
		if !strings.Contains(err.Error(), "overlaps") { // it is the link at the moment
			t.Fatal(err)
		}
	}
	calls := []call{{F: "swapped", A: "/data", B: host.Harmless, N: times}}
	for _, name := range host.SwapNames {
		calls = append(calls, call{F: "swapped", A: "/data/" + name, B: host.Harmless, N: times})
	}
	var mu sync.Mutex
	var could, ran, refused int
	var guests sync.WaitGroup
	for range 3 {
		guests.Go(func() {
			for n := 0; !t.Failed() && time.Now().Before(patience); n++ {
				out := h.Run(t.Context(), jobhost.Call{Plugin: "calls", Run: sample(callData(t, calls...))})
				mu.Lock()
				switch {
				case strings.Contains(out.Message, "overlaps"), strings.Contains(out.Message, "another folder"), strings.Contains(out.Message, "no such file"):
					refused++
				case out.Code != "":
					t.Errorf("a run failed: %+v", out)
				default:
					ran++
					var results []result
					if err := json.Unmarshal(out.Output, &results); err != nil {
						t.Error(err)
					}
					for _, r := range results {
						could += int(r.N)
						if r.S != "" {
							t.Errorf("a guest reached the outside: %s", r.S)
						}
					}
				}
				enough := could > 0 && ran > 0 && refused > 0
				mu.Unlock()
				if n >= runs && enough {
					return
				}
			}
		})
	}
	guests.Wait()
	if could == 0 || ran == 0 || refused == 0 {
		t.Errorf("%d runs did %d things and %d could not begin, so that not all was tried", ran, could, refused)
	}
}
