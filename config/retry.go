package config

import (
	"time"

	"github.com/jobhost/jobhost"
)

const (
	backoffFixed       = "fixed"
	backoffExponential = "exponential"
)

func retryKeys() table[jobhost.RetryPolicy] {
	return table[jobhost.RetryPolicy]{
		{
			name: "max_retries", kind: anInteger, required: true, limits: "1 to 100", help: "further runs after the first failure",
			read: func(p *jobhost.RetryPolicy, v value) {
				p.MaxRetries, _ = integerIn[int](v, 1, 100)
			},
		},
		{
			name: "delay", kind: aDuration, required: true, limits: limited.words, help: "wait before the first retry",
			read: func(p *jobhost.RetryPolicy, v value) { p.Delay, _ = v.durationIn(limited) },
		},
		{
			name: "backoff", kind: aChoice, def: backoffFixed, limits: "fixed or exponential", help: "`exponential`: each wait is twice the one before",
			read: func(p *jobhost.RetryPolicy, v value) {
				switch s, ok := v.text(); {
				case ok && s == backoffExponential:
					p.Exponential = true
				case ok && s != backoffFixed:
					v.wrong("%s is no backoff", quote(s))
				}
			},
		},
		{
			name: "max_delay", kind: aDuration, def: none, limits: limited.words, help: "bound of exponential waits",
			read: func(p *jobhost.RetryPolicy, v value) { p.MaxDelay, _ = v.durationIn(limited) },
		},
	}
}

// readRetry reads a retry policy, or none.
func readRetry(j *jobDraft, v value) {
	j.RetryGiven = true
	v.want = "a mapping with max_retries and delay, or none"
	if v.isNull() {
		v.wrong("has no value")
		return
	}
	if v.tag() == strTag {
		if s, ok := v.text(); ok && s != none {
			v.wrong("is %s", quote(s))
		}
		return
	}
	var p jobhost.RetryPolicy
	given := retryKeys().read(&p, v)
	if bound, ok := given["max_delay"]; ok && !p.Exponential {
		bound.warning("has no effect with a fixed backoff")
	}
	if p.Check() == nil {
		j.Def.Retry = &p
	}
}

// durationOrNone reads a time limit; none is 0.
func (v value) durationOrNone() time.Duration { return v.noneOr(limited) }

// noneOr reads a duration within a range that has no 0, or none, which is 0.
func (v value) noneOr(r rule[time.Duration]) time.Duration {
	if v.tag() == strTag && v.node.Value == none {
		return 0
	}
	d, _ := v.durationIn(r)
	return d
}
