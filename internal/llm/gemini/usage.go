package gemini

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

type usage struct {
	Prompt     jsontext.Value `json:"promptTokenCount"`
	ToolPrompt jsontext.Value `json:"toolUsePromptTokenCount"`
	Candidates jsontext.Value `json:"candidatesTokenCount"`
	Thoughts   jsontext.Value `json:"thoughtsTokenCount"`
	Cached     jsontext.Value `json:"cachedContentTokenCount"`
	Total      jsontext.Value `json:"totalTokenCount"`
}

// count takes the usage of a frame; each tells of the answer so far. Cached tokens are part of the prompt, and what the
// vendor's own tools were fed is input, too; thoughts are counted beside the answer.
func (t *turn) count(raw jsontext.Value) {
	var u usage
	if raw.Kind() != '{' {
		return
	}
	t.usage = llm.Usage{Raw: bytes.Clone(raw)}
	if wire.Read(raw, &u) != nil {
		return
	}
	t.usage.Input = wire.Tokens(u.Prompt) + wire.Tokens(u.ToolPrompt)
	t.usage.Reasoning = wire.Tokens(u.Thoughts)
	t.usage.Output = wire.Tokens(u.Candidates) + t.usage.Reasoning
	t.usage.CacheRead = min(wire.Tokens(u.Cached), t.usage.Input)
	t.usage.Total = wire.Tokens(u.Total)
}
