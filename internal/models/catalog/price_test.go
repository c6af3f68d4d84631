package catalog

import (
	"math"
	"math/big"
	"testing"

	"github.com/cairn-dev/cairn/internal/llm"
)

func usage(in, out int64) llm.Usage { return llm.Usage{Input: in, Output: out} }

func TestParsePrice(t *testing.T) {
	tests := []struct {
		in   string
		want Price
		bad  bool
	}{
		{"0", 0, false},
		{"1", 1_000_000, false},
		{"0.0375", 37_500, false},
		{"0.000001", 1, false},
		{"0.0000019", 1, false}, // digits below a pico-dollar are cut off
		{"0.0000001", 0, false},
		{"1.25e1", 12_500_000, false},
		{"25E-2", 250_000, false},
		{"5e-30", 0, false},
		{"30.00", 30_000_000, false},
		{"9223372036854", 9223372036854000000, false},
		{"9223372036855", 0, true},
		{"1e20", 0, true},
		{"1e99", 0, true},
		{"-1", 0, true},
		{"-0", 0, true},
		{"", 0, true},
		{".", 0, true},
		{"1,5", 0, true},
		{"NaN", 0, true},
	}
	for _, tt := range tests {
		got, err := ParsePrice(tt.in)
		if got != tt.want || (err != nil) != tt.bad {
			t.Errorf("%s: %d, %v", tt.in, got, err)
		}
	}
}

func TestPriceString(t *testing.T) {
	for p, want := range map[Price]string{
		0: "0", 1: "0.000001", 37_500: "0.0375", 1_000_000: "1", 12_500_000: "12.5",
		math.MaxInt64: "9223372036854.775807",
	} {
		if got := p.String(); got != want {
			t.Errorf("%d: %s, want %s", int64(p), got, want)
		}
	}
}

// FuzzParsePrice compares with exact rational arithmetic.
func FuzzParsePrice(f *testing.F) {
	for _, s := range []string{"0.15", "1e3", "12.5e-7", "000.10", "1e", "9223372036854.775807"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParsePrice(s)
		if err != nil {
			return
		}
		exact, ok := new(big.Rat).SetString(s)
		if !ok {
			return // "1e" and "1." are not Rats
		}
		exact.Mul(exact, big.NewRat(scale, 1))
		want := new(big.Int).Quo(exact.Num(), exact.Denom())
		if want.Cmp(big.NewInt(int64(got))) != 0 {
			t.Errorf("%s: %d, want %s", s, got, want)
		}
		if again, err := ParsePrice(got.String()); err != nil || again != got {
			t.Errorf("%s becomes %s", got, again)
		}
	})
}

func TestCost(t *testing.T) {
	const source = `{"p":{"models":{
		"plain": {"cost":{"input":3,"output":15,"cache_read":0.3,"cache_write":3.75}},
		"tiers": {"cost":{"input":1,"output":1,"tiers":[{"tier":{"type":"context","size":100000},"input":2,"output":2},{"tier":{"type":"context","size":300000},"input":3,"output":3},{"tier":{"type":"time","size":1},"input":9,"output":9}],"context_over_200k":{"input":7,"output":7}}},
		"over":  {"cost":{"input":1,"output":1,"context_over_200k":{"input":7,"output":7},"tiers":[{"tier":{"size":300000},"input":8,"output":8}]}},
		"free":  {"cost":{"input":1,"output":1,"cache_read":0,"cache_write":0}},
		"two":   {"cost":{"input":2147.483648,"output":0}},
		"max":   {"cost":{"input":9223372036854,"output":9223372036854}}}}}`
	c := build(t, Overlay{Facts: parsed(t, source)})
	tests := []struct {
		name, model string
		u           llm.Usage
		want        int64 // pico-dollars
	}{
		{"nothing", "plain", llm.Usage{}, 0},
		{"input and output", "plain", usage(1000, 100), 1000*3_000_000 + 100*15_000_000},
		{
			"cache",
			"plain",
			llm.Usage{Input: 1000, CacheRead: 600, CacheWrite: 300, Output: 1},
			100*3_000_000 + 600*300_000 + 300*3_750_000 + 15_000_000,
		},
		{
			"kept for an hour",
			"plain",
			llm.Usage{Input: 300, CacheWrite: 300, LongWrite: 200},
			100*3_750_000 + 200*6_000_000,
		},
		{"reasoning is output", "plain", llm.Usage{Output: 100, Reasoning: 80}, 100 * 15_000_000},
		{"negative counts cost nothing", "plain", llm.Usage{Input: -5, Output: -5, CacheRead: -1, CacheWrite: -1}, 0},
		{"more cached than sent", "plain", llm.Usage{Input: 10, CacheRead: 20}, 20 * 300_000},
		{"at the tier's size", "tiers", usage(100_000, 0), 100_000 * 1_000_000},
		{"above it", "tiers", usage(100_001, 0), 100_001 * 2_000_000},
		{"largest tier", "tiers", usage(300_001, 1), 300_002 * 3_000_000},
		{
			"cached input counts for the tier", "tiers",
			llm.Usage{Input: 200_000, CacheRead: 199_999},
			200_000 * 2_000_000,
		},
		{"a tier goes before the rate over 200k", "tiers", usage(250_000, 0), 250_000 * 2_000_000},
		{"cached input without a price", "two", llm.Usage{Input: 9, CacheRead: 4, CacheWrite: 3}, 9 * 2_147_483_648},
		{"a listed price of 0 is free", "free", llm.Usage{Input: 9, CacheRead: 4, CacheWrite: 3}, 2 * 1_000_000},
		{"over 200k", "over", usage(200_001, 0), 200_001 * 7_000_000},
		{"not over 200k", "over", usage(200_000, 0), 200_000 * 1_000_000},
		{"tier above 200k", "over", usage(300_001, 0), 300_001 * 8_000_000},
		{"saturates", "max", usage(math.MaxInt64, math.MaxInt64), math.MaxInt64},
		{"saturates where 64 bits would wrap to little", "two", usage(1<<34, 0), math.MaxInt64},
		{"saturates in the sum", "max", usage(1, 1), math.MaxInt64},
	}
	for _, tt := range tests {
		if got := model(t, c, "p", tt.model).Cost(tt.u); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
	const costs = `{"p":{"models":{"none":{},"empty":{"cost":{}},"half":{"cost":{"output":1}}}}}`
	none := build(t, Overlay{Facts: parsed(t, costs)})
	for name, want := range map[string]bool{"none": false, "empty": false, "half": true} {
		if model(t, none, "p", name).IsPriced() != want {
			t.Errorf("%s: IsPriced is %t", name, !want)
		}
	}
	if !model(t, c, "p", "free").IsPriced() || (Model{}).Cost(usage(5, 5)) != 0 {
		t.Error("a model without rates costs something")
	}
}
