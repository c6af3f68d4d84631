package wire

import (
	"bytes"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// ParseCredits returns the charge of GitHub Copilot in pico-dollars, from a count of billionths of a credit (one cent);
// nil if it is not reported.
func ParseCredits(v jsontext.Value) *int64 {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n < 0 || n > maxTokens {
		return nil
	}
	billed := int64(n * 10)
	return &billed
}

// Charge is the price of an answer as gateways such as OpenRouter report it, in dollars, as members of its usage.
type Charge struct {
	Cost      jsontext.Value `json:"cost"`
	Estimated jsontext.Value `json:"estimated_cost"` // Deep Infra
	OwnKey    bool           `json:"is_byok"`        // Cost is the gateway's fee; the vendor charges the user's own key
	Details   struct {
		Upstream jsontext.Value `json:"upstream_inference_cost"`
	} `json:"cost_details"`
}

// Parse returns the charge in pico-dollars; nil if it is not reported.
func (c Charge) Parse() *int64 {
	cost, ok := parseDollars(c.Cost)
	if !ok {
		if cost, ok = parseDollars(c.Estimated); !ok {
			return nil
		}
	}
	if c.OwnKey {
		upstream, ok := parseDollars(c.Details.Upstream)
		if !ok {
			return nil // the fee alone is not the cost
		}
		cost += upstream
	}
	return &cost
}

// maxCharge is more dollars than one answer can cost; a larger number is invalid.
const maxCharge = 1_000_000

func parseDollars(v jsontext.Value) (pico int64, ok bool) {
	f, err := strconv.ParseFloat(string(v), 64)
	if v.Kind() != '0' || err != nil || !(f >= 0 && f <= maxCharge) {
		return 0, false
	}
	return int64(math.Round(f * 1e12)), true
}

// maxTokens is more than any provider can count in one answer; a larger number is invalid.
const maxTokens = 1 << 40

// ParseTokenCount returns a token count; 0 for a value that is not one.
func ParseTokenCount(v jsontext.Value) int64 {
	if v.Kind() == '"' { // some servers send numbers as text
		v = jsontext.Value(DecodeString(v))
	}
	if v.Kind() != '0' {
		return 0
	}
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		if n < 0 || n > maxTokens {
			return 0
		}
		return n
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || !(f >= 0 && f <= maxTokens) {
		return 0
	}
	return int64(f)
}

// ReadUsage decodes a provider's usage object into fields; false if it is not an object. The returned usage holds the
// object and no counts yet.
func ReadUsage(raw jsontext.Value, fields any) (llm.Usage, bool) {
	ok := raw.Kind() == '{' && DecodeLenient(raw, fields) == nil
	return llm.Usage{Raw: bytes.Clone(raw)}, ok
}

// ClampUsage returns u with the invariants of llm.Usage: cache reads and writes are part of the input, reasoning is
// part of the output.
func ClampUsage(u llm.Usage) llm.Usage {
	u.Output = max(u.Output, u.Reasoning)
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	return u
}
