package openairesponses

import (
	"github.com/go-json-experiment/json/jsontext"

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

// parseUsage reads the usage of an answer. Cached tokens are part of the input, reasoning of the output.
func (t *turn) parseUsage(raw jsontext.Value) {
	var u usage
	used, ok := wire.ReadUsage(raw, &u)
	if !ok {
		return
	}
	used.Input, used.Output, used.Total = wire.ParseTokenCount(
		u.Input,
	), wire.ParseTokenCount(u.Output), wire.ParseTokenCount(u.Total)
	used.Reasoning, used.CacheRead, used.CacheWrite = wire.ParseTokenCount(
		u.Out.Reasoning,
	), wire.ParseTokenCount(u.In.Cached), wire.ParseTokenCount(u.In.CacheWrite)
	t.usage = wire.ClampUsage(used)
}
