package wire

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Credits returns what GitHub Copilot charges, in pico-dollars, from its count of billionths of a credit, which is a
// cent; nil if it does not say.
func Credits(v jsontext.Value) *int64 {
	n, err := strconv.ParseFloat(string(v), 64)
	if err != nil || n < 0 || n > maxTokens {
		return nil
	}
	billed := int64(n * 10)
	return &billed
}

// maxTokens is more than any provider can count in one answer; a larger number is noise.
const maxTokens = 1 << 40

// Tokens reads one count; what is not a count is 0 (spec/v1 §31).
func Tokens(v jsontext.Value) int64 {
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

// ReadUsage reads a provider's object of counts into its fields; false if it is none. The usage that it returns holds
// the object, and no counts yet.
func ReadUsage(raw jsontext.Value, fields any) (llm.Usage, bool) {
	ok := raw.Kind() == '{' && Read(raw, fields) == nil
	return llm.Usage{Raw: bytes.Clone(raw)}, ok
}

// Within returns u with llm.Usage's invariants: what was read from and written to a cache is part of the input, and
// reasoning is part of the output.
func Within(u llm.Usage) llm.Usage {
	u.Output = max(u.Output, u.Reasoning)
	u.CacheRead = min(u.CacheRead, u.Input)
	u.CacheWrite = min(u.CacheWrite, u.Input-u.CacheRead)
	return u
}
