package main

import (
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestParseAmountReadsPlainDecimals(t *testing.T) {
	for text, want := range map[string]Amount{
		"0": 0, "12": 120_000, "12.5": 125_000, "12.50": 125_000, "0.0125": 125, "-3.10": -31_000, "0012": 120_000,
		"922337203685477.5807": math.MaxInt64,
	} {
		if got, err := ParseAmount(text); err != nil || got != want {
			t.Errorf("ParseAmount(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
}

func TestParseAmountRefusesWhatIsNoPlainDecimal(t *testing.T) {
	for _, text := range []string{
		"", "-", ".", ".5", "5.", "1,5", "1.234,50", "1e3", "+1", "--1", "1-", " 1", "0x10", "1.00001", "1.2.3", "١", "922337203685477.5808",
	} {
		if got, err := ParseAmount(text); err == nil {
			t.Errorf("ParseAmount(%q) = %v, want an error", text, got)
		}
	}
}

func TestAmountRoundsToCentsAwayFromZero(t *testing.T) {
	for a, want := range map[Amount]string{
		0: "0.00", 49: "0.00", 50: "0.01", -49: "0.00", -50: "-0.01", 12_349: "1.23", 12_350: "1.24", -12_350: "-1.24",
		math.MaxInt64: "922337203685477.58", math.MinInt64: "-922337203685477.58",
	} {
		if got := a.String(); got != want {
			t.Errorf("Amount(%d) = %s, want %s", a, got, want)
		}
	}
}

func TestAmountArithmeticIsThatOfIntegersOrRefuses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := Amount(rapid.Int64().Draw(t, "a")), Amount(rapid.Int64().Draw(t, "b"))
		same := func(op string, got Amount, ok bool, want *big.Int) {
			if ok != want.IsInt64() || ok && int64(got) != want.Int64() {
				t.Fatalf("%d %s %d = %d, %v; want %v", a, op, b, got, ok, want)
			}
		}
		x, y := big.NewInt(int64(a)), big.NewInt(int64(b))
		sum, ok := a.Plus(b)
		same("+", sum, ok, new(big.Int).Add(x, y))
		product, ok := a.Times(int64(b))
		same("*", product, ok, new(big.Int).Mul(x, y))
	})
}
