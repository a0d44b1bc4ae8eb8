package cron_test

import (
	"testing"
	"time"

	"github.com/jobhost/jobhost/cron"
)

var benchExpressions = []string{"* * * * *", "*/5 9-17 * * MON-FRI", "0 0 1 1 *", "0 0 29 2 *", "0 0 L * *"}

func BenchmarkParse(b *testing.B) {
	for _, expr := range append(benchExpressions, "0 0,30 8-18/2 ? JAN-JUN MON#1,FRI#3 2026-2030") {
		b.Run(expr, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := cron.Parse(expr); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	from := time.Date(2026, 6, 15, 12, 34, 56, 0, time.UTC)
	for _, zone := range []string{"UTC", "America/New_York"} {
		for _, expr := range append(benchExpressions, "0 0 30 2 *", "0 0 31 2,4,6,9,11 *") {
			b.Run(zone+"/"+expr, func(b *testing.B) {
				s := mustIn(b, expr, zone)
				b.ReportAllocs()
				for b.Loop() {
					s.Next(from)
				}
			})
		}
	}
}

// BenchmarkNextChain follows the matches, so that each step is at another instant.
func BenchmarkNextChain(b *testing.B) {
	from := time.Date(2026, 6, 15, 12, 34, 56, 0, time.UTC)
	for _, zone := range []string{"UTC", "America/New_York"} {
		for _, expr := range benchExpressions {
			b.Run(zone+"/"+expr, func(b *testing.B) {
				s := mustIn(b, expr, zone)
				b.ReportAllocs()
				t := from
				for b.Loop() {
					if t = s.Next(t); t.Year() > 2060 {
						t = from
					}
				}
			})
		}
	}
}
