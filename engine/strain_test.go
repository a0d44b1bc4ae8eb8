package engine

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestStrainStarvesNobody plays turns against a store that refuses what a test draws, as long as it draws. Whatever waits is
// tried within a bounded number of turns, and no claim is made on a full store while an outcome waits.
func TestStrainStarvesNobody(t *testing.T) {
	const slots, longest, poll, length = 3, 12, time.Second, 200 * time.Millisecond // turns, the interval after those that fail, and a turn's own length
	rapid.Check(t, func(t *rapid.T) {
		var s strain
		now, n, m, running := t0, 0, 0, slots
		var unoffered, unanswered, unclaimed int // turns since outcomes were tried, a command was taken, a claim was allowed
		for range rapid.IntRange(1, 200).Draw(t, "turns") {
			if running > 0 && rapid.Bool().Draw(t, "a run ends") {
				n, running = n+1, running-1
			}
			if rapid.IntRange(0, 5).Draw(t, "a command comes") == 0 {
				m++
			}
			nothing := n == 0 && m == 0
			ended, asked, claim := s.choose(n, m, now, true)
			wait := length
			unoffered, unanswered, unclaimed = unoffered+1, unanswered+1, unclaimed+1
			switch {
			case s.wantsRoom(ended == 0 && asked == 0):
				s.madeRoom(now.Add(poll))
			case nothing && !claim:
				t.Fatalf("nothing is queued, and no claim may be made: %+v", s)
			default:
				if s.apart && claim && n > 0 {
					t.Fatalf("a claim while %d outcomes wait: %+v", n, s)
				}
				if ended > 0 || n == 0 {
					unoffered = 0
				}
				if asked > 0 || m == 0 {
					unanswered = 0
				}
				if claim || n > 0 || m > 0 {
					unclaimed = 0
				}
				// The same decisions as the engine's after a turn that does not fit.
				switch fits := rapid.Bool().Draw(t, "it fits"); {
				case fits:
					n, m = n-ended, m-asked
					started := 0
					if claim {
						started = rapid.IntRange(0, slots-running).Draw(t, "claimed")
						running += started
					}
					s.stored(asked, started, n)
				case asked > 0 && !s.apart: // they stay queued
					s.overflowed(ended > 0)
				case asked > 0:
					if m -= asked; n == 0 && m == 0 {
						s.overflowed(false)
						wait = poll
					}
				default:
					s.overflowed(ended > 0)
					wait = poll
				}
			}
			if unoffered > longest || unanswered > longest || unclaimed > longest {
				t.Fatalf("something waits for ever: %d outcomes for %d turns, %d commands for %d, claims for %d: %+v",
					n, unoffered, m, unanswered, unclaimed, s)
			}
			now = now.Add(wait)
		}
	})
}
