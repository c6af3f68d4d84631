package catalog

import (
	"fmt"
	"math"
	"math/bits"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Price is the price of one token, in pico-dollars. Its JSON is a decimal number of dollars per million tokens; one
// such dollar is a million pico-dollars per token. It is never negative.
type Price int64

const (
	decimals  = 6 // of a dollar per million tokens
	scale     = 1_000_000
	maxDollar = math.MaxInt64 / scale
)

// ParsePrice reads a decimal number of dollars per million tokens, with optional fraction and exponent. Digits below
// one pico-dollar are cut off; a negative or huge number is an error.
func ParsePrice(s string) (Price, error) {
	n, ok := session.ParseDecimal(s, decimals)
	if !ok || strings.ContainsAny(s[:1], "+-") {
		return 0, badPrice(s)
	}
	return Price(n), nil
}

func badPrice(s string) error {
	return fmt.Errorf("%.40q is not a price in dollars per million tokens between 0 and %d", s, int64(maxDollar))
}

// String returns the price in dollars per million tokens, with as many decimals as it needs.
func (p Price) String() string {
	out := fmt.Sprintf("%d.%06d", p/scale, p%scale)
	return strings.TrimSuffix(strings.TrimRight(out, "0"), ".")
}

// MarshalJSONTo implements json.MarshalerTo.
func (p Price) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteValue(jsontext.Value(p.String()))
}

// UnmarshalJSONFrom implements json.UnmarshalerFrom.
func (p *Price) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue()
	if err != nil {
		return err
	}
	if v.Kind() == 'n' {
		*p = 0
		return nil
	}
	if v.Kind() != '0' {
		return badPrice(string(v))
	}
	*p, err = ParsePrice(string(v))
	return err
}

// Rate holds the prices of tokens, from a context size on or always.
type Rate struct {
	Tier   *Tier      `json:"tier,omitzero"`
	Input  Price      `json:"input"`
	Output Price      `json:"output"`
	Cache  CachePrice `json:"cache"`
}

// Tier says that a rate holds for requests with more than Size input tokens, cached ones included.
type Tier struct {
	Type string `json:"type"` // context
	Size int64  `json:"size"`
}

// CachePrice holds the prices of reading and writing the provider's prompt cache.
type CachePrice struct {
	Read  Price `json:"read"`
	Write Price `json:"write"`

	NoRead, NoWrite bool `json:"-"` // the price is not listed: the tokens cost as much as other input
}

// rateFor returns the rateFor for a request with that many input tokens.
func (m Model) rateFor(input int64) Rate {
	var base, best Rate
	for _, r := range m.Rates {
		switch {
		case r.Tier == nil:
			base = r
		case input > r.Tier.Size && (best.Tier == nil || r.Tier.Size > best.Tier.Size):
			best = r
		}
	}
	if best.Tier != nil {
		return best
	}
	return base
}

// IsPriced reports whether a price of the model is known, which may be 0.
func (m Model) IsPriced() bool { return len(m.Rates) > 0 && !m.NoPrice }

// Cost returns the cost of a turn in pico-dollars: input that was neither read from nor written to the cache, cache
// reads and writes, and output, with reasoning at the output price. It saturates at the largest int64, and is 0 if no
// price is known.
func (m Model) Cost(u llm.Usage) int64 {
	r := m.rateFor(u.Input)
	if r.Cache.NoRead {
		r.Cache.Read = r.Input
	}
	if r.Cache.NoWrite {
		r.Cache.Write = r.Input
	}
	plain := max(u.Input-max(u.CacheRead, 0)-max(u.CacheWrite, 0), 0)
	var sum int64
	for _, part := range []struct {
		tokens int64
		price  Price
	}{
		{plain, r.Input},
		{u.CacheRead, r.Cache.Read},
		{u.CacheWrite, r.Cache.Write},
		{min(u.LongWrite, u.CacheWrite), r.Cache.Write / 5 * 3}, // twice the input's price instead of five quarters of it
		{max(u.Output, u.Reasoning), r.Output},
	} {
		sum = addSaturating(sum, mulSaturating(part.tokens, int64(part.price)))
	}
	return sum
}

func mulSaturating(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	if hi > 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(lo)
}

func addSaturating(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
