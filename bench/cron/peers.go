// Package cron compares package cron of jobhost with other cron libraries for Go: what parsing and the next time cost,
// and who is wrong on which of the test vectors.
package cron

import (
	"errors"
	"strings"
	"time"

	"github.com/adhocore/gronx"
	"github.com/gorhill/cronexpr"
	netresearch "github.com/netresearch/go-cron"
	quartz "github.com/reugn/go-quartz/quartz"
	robfig "github.com/robfig/cron/v3"

	jobhost "github.com/jobhost/jobhost/cron"
)

// Next returns the first match after an instant, or the zero time.
type Next func(after time.Time) time.Time

// Peer is a library. Parse makes the expression ready for a zone.
type Peer struct {
	Name  string
	Parse func(expr string, zone *time.Location) (Next, error)
}

// Peers lists jobhost first.
func Peers() []Peer {
	return []Peer{
		{"jobhost", parseJobhost},
		{"robfig", parseRobfig},
		{"netresearch", parseNetresearch},
		{"go-quartz", parseQuartz},
		{"gronx", parseGronx},
		{"cronexpr", parseCronexpr},
	}
}

func parseJobhost(expr string, zone *time.Location) (Next, error) {
	e, err := jobhost.Parse(expr)
	if err != nil {
		return nil, err
	}
	return e.In(zone).Next, nil
}

func parseRobfig(expr string, zone *time.Location) (Next, error) {
	options := robfig.Minute | robfig.Hour | robfig.Dom | robfig.Month | robfig.Dow
	if len(strings.Fields(expr)) == 6 {
		options |= robfig.Second
	}
	s, err := robfig.NewParser(options).Parse(expr)
	if err != nil {
		return nil, err
	}
	return func(after time.Time) time.Time { return s.Next(after.In(zone)) }, nil
}

// parseNetresearch asks for the union of day and weekday, which is not this library's default.
func parseNetresearch(expr string, zone *time.Location) (Next, error) {
	options := netresearch.Minute | netresearch.Hour | netresearch.Dom | netresearch.Month | netresearch.Dow |
		netresearch.Extended | netresearch.DowOrDom
	switch len(strings.Fields(expr)) {
	case 6:
		options |= netresearch.Second
	case 7:
		options |= netresearch.Second | netresearch.Year
	}
	p, err := netresearch.TryNewParser(options)
	if err != nil {
		return nil, err
	}
	s, err := p.Parse(expr)
	if err != nil {
		return nil, err
	}
	return func(after time.Time) time.Time { return s.Next(after.In(zone)) }, nil
}

// parseQuartz puts a second in front of five fields, which this library does not have.
func parseQuartz(expr string, zone *time.Location) (Next, error) {
	if len(strings.Fields(expr)) == 5 {
		expr = "0 " + expr
	}
	t, err := quartz.NewCronTriggerWithLoc(expr, zone)
	if err != nil {
		return nil, err
	}
	return func(after time.Time) time.Time {
		next, err := t.NextFireTime(after.UnixNano())
		if err != nil {
			return time.Time{}
		}
		return time.Unix(0, next)
	}, nil
}

// parseGronx only checks the expression: this library reads it anew for each next time.
func parseGronx(expr string, zone *time.Location) (Next, error) {
	if !gronx.IsValid(expr) {
		return nil, errors.New("not valid")
	}
	return func(after time.Time) time.Time {
		next, err := gronx.NextTickAfter(expr, after.In(zone), false)
		if err != nil {
			return time.Time{}
		}
		return next
	}, nil
}

// parseCronexpr adds a year to six fields, which this library would read as the last of them.
func parseCronexpr(expr string, zone *time.Location) (Next, error) {
	if len(strings.Fields(expr)) == 6 {
		expr += " *"
	}
	e, err := cronexpr.Parse(expr)
	if err != nil {
		return nil, err
	}
	return func(after time.Time) time.Time { return e.Next(after.In(zone)) }, nil
}
