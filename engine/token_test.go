package engine

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost"
	"github.com/jobhost/jobhost/jobtest"
)

func TestTimePassesInABubbleWhileAStoreIsSlow(t *testing.T) {
	eachStore(t, "requests, files and duties at once", func(w *world) {
		w.store = jobtest.Slow(w.store, 30*time.Millisecond)
		e := w.eng()
		for range 3 {
			w.aside.Go(func() {
				for range 20 {
					_ = e.Apply(w.Context(), []jobhost.JobDef{job("j", "cron * * * * * *")})
					_, _ = jobhost.One(e.Trigger(w.Context(), []jobhost.TriggerRequest{{Job: "j"}})) // it is refused before the start
					e.doDuties(w.Context())
				}
			})
		}
		stop := w.serve()
		w.until(minute)
		w.aside.Wait()
		if n := len(w.runs("j")); n < 60 {
			w.Errorf("%d runs in a minute, want at least 60", n)
		}
		stop()
	})
}
