package anthropic

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// updateUsage applies the usage of a frame. Later values replace earlier ones field by field, but 0 does not replace a
// positive count: some servers report the input only once.
func (t *turn) updateUsage(v jsontext.Value) {
	fields, ok := wire.ReadObject(v)
	if !ok {
		return
	}
	if t.usage == nil {
		t.usage = wire.Object{}
	}
	for name, v := range fields {
		if string(v) == "0" && wire.ParseTokenCount(t.usage[name]) > 0 || !wire.IsPresent(v) && t.usage[name] != nil {
			continue
		}
		t.usage[name] = v
	}
}

// parseUsage returns the counts with the invariants of llm.Usage: the provider reports cached input separately.
func parseUsage(o wire.Object) llm.Usage {
	if o == nil {
		return llm.Usage{}
	}
	out := llm.Usage{
		CacheRead:  wire.ParseTokenCount(o["cache_read_input_tokens"]),
		CacheWrite: wire.ParseTokenCount(o["cache_creation_input_tokens"]),
		Output:     wire.ParseTokenCount(o["output_tokens"]),
		Raw:        repairJSON(wire.MarshalOr(o, nil)),
	}
	out.Input = wire.ParseTokenCount(o["input_tokens"]) + out.CacheRead + out.CacheWrite
	written, _ := wire.ReadObject(o["cache_creation"])
	out.LongWrite = min(wire.ParseTokenCount(written["ephemeral_1h_input_tokens"]), out.CacheWrite)
	details, _ := wire.ReadObject(o["output_tokens_details"])
	out.Reasoning = min(wire.ParseTokenCount(details["thinking_tokens"]), out.Output)
	return out
}
