package cron

import (
	"testing"
	"time"

	jobhost "github.com/jobhost/jobhost/cron"
)

var expressions = []string{"* * * * *", "*/5 9-17 * * MON-FRI", "0 0 1 1 *", "0 0 29 2 *", "0 0 L * *"}

func BenchmarkParse(b *testing.B) {
	for _, expr := range expressions {
		for _, p := range Peers() {
			if _, err := p.Parse(expr, time.UTC); err != nil {
				continue // this library does not read the expression
			}
			b.Run(expr+"/"+p.Name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					_, _ = p.Parse(expr, time.UTC)
				}
			})
		}
	}
}

func BenchmarkNext(b *testing.B) {
	from := time.Date(2026, 6, 15, 12, 34, 56, 0, time.UTC)
	for _, name := range []string{"UTC", "America/New_York"} {
		zone, err := jobhost.LoadZone(name)
		if err != nil {
			b.Fatal(err)
		}
		for _, expr := range expressions {
			for _, p := range Peers() {
				next, err := p.Parse(expr, zone)
				if err != nil {
					continue // this library does not read the expression
				}
				b.Run(name+"/"+expr+"/"+p.Name, func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						next(from)
					}
				})
			}
		}
	}
}
