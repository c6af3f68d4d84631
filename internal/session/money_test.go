package session

import (
	"math/big"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

func TestUSD(t *testing.T) {
	for _, c := range []struct {
		in   string
		want USD
		out  string // "" is in
	}{
		{"0", 0, ""},
		{"-0", 0, "0"},
		{"1", Dollar, ""},
		{"-1.5", -3 * Dollar / 2, ""},
		{"0.000000000001", 1, ""},
		{"0.0000000000019", 1, "0.000000000001"},
		{"1e-12", 1, "0.000000000001"},
		{"1E+3", 1000 * Dollar, "1000"},
		{"12.5e1", 125 * Dollar, "125"},
		{"1e-40", 0, "0"},
		{"0.1", Dollar / 10, ""},
		{"0.003", 3_000_000_000, ""},
		{"9223372.036854775807", 9223372036854775807, ""},
		{"00012.340", 12_340_000_000_000, "12.34"},
		{"+1", Dollar, "1"},
		{".5", Dollar / 2, "0.5"},
		{"5.", 5 * Dollar, "5"},
	} {
		got, err := ParseUSD(c.in)
		if c.out == "" {
			c.out = c.in
		}
		if err != nil || got != c.want || got.String() != c.out {
			t.Errorf("%s is %d %s, %v; want %d %s", c.in, got, got, err, c.want, c.out)
		}
	}
	for _, bad := range []string{
		"", "-", ".", "x", "1x", "1e", "1e99", "e1", "--1", "+-1", "1.2.3", "NaN", "Infinity", "0x1", "1_0", " 1",
		"9223372.036854775808", "1e30", strings.Repeat("9", 400),
	} {
		if got, err := ParseUSD(bad); err == nil {
			t.Errorf("%q is taken for %s", bad, got)
		}
	}
}

func TestUSDInJSON(t *testing.T) {
	var v struct {
		Cost USD `json:"cost"`
	}
	if err := json.Unmarshal([]byte(`{"cost":1.25e-3}`), &v); err != nil || v.Cost != 1_250_000_000 {
		t.Errorf("%d, %v", v.Cost, err)
	}
	for _, bad := range []string{`{"cost":"1"}`, `{"cost":true}`, `{"cost":1e30}`, `{"cost":{}}`} {
		if err := json.Unmarshal([]byte(bad), &v); err == nil {
			t.Errorf("%s is taken for %s", bad, v.Cost)
		}
	}
}

// The amount is the decimal number, cut at a pico-dollar towards zero, or an error; and its text is itself again.
func FuzzUSD(f *testing.F) {
	for _, s := range []string{"0", "1.5", "-0.000000000001", "1e-5", "9223372.036854775807", "123456.789e-3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ParseUSD(s)
		if err != nil {
			return
		}
		want, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Skip() // forms that big.Rat does not read, like "5."
		}
		want.Mul(want, new(big.Rat).SetInt64(int64(Dollar)))
		cut := new(big.Int).Quo(want.Num(), want.Denom())
		if !cut.IsInt64() || cut.Int64() != int64(got) {
			t.Errorf("%s is %d, want %s", s, got, cut)
		}
		if back, err := ParseUSD(got.String()); err != nil || back != got {
			t.Errorf("%s is written as %s and read as %d, %v", s, got, back, err)
		}
	})
}
