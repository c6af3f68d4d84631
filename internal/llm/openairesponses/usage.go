package openairesponses

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

type usage struct {
	Input  jsontext.Value `json:"input_tokens"`
	Output jsontext.Value `json:"output_tokens"`
	Total  jsontext.Value `json:"total_tokens"`
	In     struct {
		Cached     jsontext.Value `json:"cached_tokens"`
		CacheWrite jsontext.Value `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Out struct {
		Reasoning jsontext.Value `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
}

// count takes the usage of an answer. Cached tokens are part of the input, reasoning of the output.
func (t *turn) count(raw jsontext.Value) {
	var u usage
	if raw.Kind() != '{' {
		return
	}
	t.usage = llm.Usage{Raw: bytes.Clone(raw)}
	if wire.Read(raw, &u) != nil {
		return
	}
	t.usage.Input, t.usage.Total = wire.Tokens(u.Input), wire.Tokens(u.Total)
	t.usage.Reasoning = wire.Tokens(u.Out.Reasoning)
	t.usage.Output = max(wire.Tokens(u.Output), t.usage.Reasoning)
	t.usage.CacheRead = min(wire.Tokens(u.In.Cached), t.usage.Input)
	t.usage.CacheWrite = min(wire.Tokens(u.In.CacheWrite), t.usage.Input-t.usage.CacheRead)
}
