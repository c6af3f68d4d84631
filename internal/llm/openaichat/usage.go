package openaichat

import (
	"cmp"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
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
	wire.Charge
}

type usageDetails struct {
	Cached     jsontext.Value `json:"cached_tokens"`
	CacheWrite jsontext.Value `json:"cache_write_tokens"`
	Reasoning  jsontext.Value `json:"reasoning_tokens"`
}

// updateUsage applies the usage of a frame. A later report replaces an earlier one, unless it is empty: some gateways
// append an empty one.
func (t *turn) updateUsage(c *chunk) {
	if billed := wire.ParseCredits(c.Copilot.Credits); billed != nil {
		t.billed = billed
		t.usage.Billed = billed
	}
	raw := c.Usage
	if !wire.IsPresent(raw) && len(c.Choices) > 0 {
		raw = c.Choices[0].Usage
	}
	if !wire.IsPresent(raw) {
		raw = c.Groq.Usage
	}
	if raw.Kind() == '"' { // the object as text
		raw = jsontext.Value(wire.DecodeString(raw))
	}
	if raw.Kind() != '{' || !raw.IsValid(wire.Foreign) {
		return
	}
	u := parseUsage(raw)
	u.Billed = cmp.Or(t.billed, u.Billed)
	if u.Input == 0 && u.Output == 0 && t.usage.Raw != nil {
		return
	}
	t.usage = u
}

// parseUsage reads the counts with the invariants of llm.Usage.
func parseUsage(raw jsontext.Value) llm.Usage {
	var u usage
	out, _ := wire.ReadUsage(raw, &u)
	out.Input, out.Output, out.Total = wire.ParseTokenCount(
		u.Prompt,
	), wire.ParseTokenCount(u.Completion), wire.ParseTokenCount(u.Total)
	out.Reasoning = max(wire.ParseTokenCount(u.Out.Reasoning), wire.ParseTokenCount(u.Reasoning))
	out.CacheRead = max(
		wire.ParseTokenCount(u.In.Cached), wire.ParseTokenCount(u.CacheHit), wire.ParseTokenCount(u.Cached),
	)
	out.CacheWrite = wire.ParseTokenCount(u.In.CacheWrite)
	out.Billed = u.Charge.Parse()
	said := out.Total == out.Input+out.Output
	if out.Reasoning > 0 && out.Total == out.Input+out.Output+out.Reasoning || said && out.Reasoning > out.Output {
		out.Output += out.Reasoning // xAI counts reasoning beside the completion, and so does Vercel for Gemini
	}
	if said && out.CacheRead > out.Input {
		out.Input += out.CacheRead // xAI at Azure counts cached input beside the rest
	}
	return wire.ClampUsage(out)
}
