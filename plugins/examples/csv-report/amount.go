package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Amount is a decimal number in units of 1/10,000. Money is never a float here: 0.1 has no exact float, and a thousand
// of them do not add up.
type Amount int64

const (
	scale    = 10_000
	decimals = 4
)

// ParseAmount reads digits with at most four decimals behind a point, such as 12.5.
func ParseAmount(s string) (Amount, error) {
	whole, frac, point := strings.Cut(s, ".")
	digits := whole + frac
	number := strings.TrimPrefix(whole, "-") != "" && (frac != "" || !point)
	for _, c := range strings.TrimPrefix(digits, "-") {
		number = number && c >= '0' && c <= '9'
	}
	switch {
	case !number:
		return 0, fmt.Errorf("%q is no number; want digits with a point, such as 12.50", s)
	case len(frac) > decimals:
		return 0, fmt.Errorf("%q has more than %d decimals", s, decimals)
	}
	n, err := strconv.ParseInt(digits+strings.Repeat("0", decimals-len(frac)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is too large", s)
	}
	return Amount(n), nil
}

// Times is a multiplied by n. It is false when the result is out of range.
func (a Amount) Times(n int64) (Amount, bool) {
	p := a * Amount(n)
	if n != 0 && (p/Amount(n) != a || a == math.MinInt64 && n == -1) {
		return 0, false
	}
	return p, true
}

// Plus is the sum. It is false when the result is out of range.
func (a Amount) Plus(b Amount) (Amount, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0)
}

// String writes two decimals, halves rounded away from zero.
func (a Amount) String() string {
	sign, n := "", uint64(a) //nolint:gosec // modulo 2^64 is meant: the next lines make it the absolute value
	if a < 0 {
		sign, n = "-", -n
	}
	cents := (n + scale/200) / (scale / 100)
	if cents == 0 {
		sign = ""
	}
	return fmt.Sprintf("%s%d.%02d", sign, cents/100, cents%100)
}

// MarshalText writes the amount as [Amount.String] does, so that JSON has it as a string and no reader makes a float of it.
func (a Amount) MarshalText() ([]byte, error) { return []byte(a.String()), nil } //nolint:unparam // as encoding.TextMarshaler wants it
