package openaichat

import (
	"bytes"
	"errors"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
)

type usage struct {
	Prompt     jsontext.Value `json:"prompt_tokens"`
	Completion jsontext.Value `json:"completion_tokens"`
	Total      jsontext.Value `json:"total_tokens"`
	In         usageDetails   `json:"prompt_tokens_details"`
	Out        usageDetails   `json:"completion_tokens_details"`
	CacheHit   jsontext.Value `json:"prompt_cache_hit_tokens"` // DeepSeek
	Cached     jsontext.Value `json:"cached_tokens"`           // Together, Moonshot
	Reasoning  jsontext.Value `json:"reasoning_tokens"`        // some gateways
}

type usageDetails struct {
	Cached     jsontext.Value `json:"cached_tokens"`
	CacheWrite jsontext.Value `json:"cache_write_tokens"`
	Reasoning  jsontext.Value `json:"reasoning_tokens"`
}

// count takes the usage of a frame. Later reports replace earlier ones, except that a report of nothing does not
// replace one of something: some gateways append an empty one.
func (t *turn) count(c *chunk) {
	raw := c.Usage
	if !present(raw) && len(c.Choices) > 0 {
		raw = c.Choices[0].Usage
	}
	if !present(raw) {
		raw = c.Groq.Usage
	}
	if raw.Kind() != '{' {
		return
	}
	u := parseUsage(raw)
	if u.Input == 0 && u.Output == 0 && t.usage.Raw != nil {
		return
	}
	t.usage = u
}

// charged returns err with what the provider reported as used.
func (t *turn) charged(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || t.usage.Raw == nil {
		return err
	}
	with := *e
	with.Usage = &t.usage
	return &with
}

// parseUsage reads the counts with llm.Usage's invariants: cached tokens are part of the input, reasoning of the
// output, and nothing is negative.
func parseUsage(raw jsontext.Value) llm.Usage {
	out := llm.Usage{Raw: bytes.Clone(raw)}
	var u usage
	if json.Unmarshal(raw, &u, foreign) != nil {
		return out
	}
	out.Input, out.Output, out.Total = tokens(u.Prompt), tokens(u.Completion), tokens(u.Total)
	out.Reasoning = max(tokens(u.Out.Reasoning), tokens(u.Reasoning))
	out.CacheRead = max(tokens(u.In.Cached), tokens(u.CacheHit), tokens(u.Cached))
	out.CacheWrite = tokens(u.In.CacheWrite)
	if out.Reasoning > 0 && out.Total == out.Input+out.Output+out.Reasoning {
		out.Output += out.Reasoning // xAI counts reasoning beside the completion
	}
	out.Output = max(out.Output, out.Reasoning)
	out.CacheRead = min(out.CacheRead, out.Input)
	out.CacheWrite = min(out.CacheWrite, out.Input-out.CacheRead)
	return out
}

// maxTokens is more than any provider can count in one answer; a larger number is noise.
const maxTokens = 1 << 40

// tokens reads one count; what is not a count is 0 (spec/v1 §31).
func tokens(v jsontext.Value) int64 {
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
