package openaichat

import (
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// withBreakpoint returns p with a cache breakpoint. Empty text cannot have one.
func (d Dialect) withBreakpoint(p part) part {
	if p.Text != nil && strings.TrimSpace(*p.Text) == "" {
		return p
	}
	mark := `{"type":"ephemeral"}`
	if d.cacheTTL != "" {
		mark = `{"type":"ephemeral","ttl":"` + d.cacheTTL + `"}`
	}
	p.Mark = map[string]jsontext.Value{d.CacheField: jsontext.Value(mark)}
	return p
}

// encodeSystem returns the content of the system message. The texts are separate parts if the first of them have
// breakpoints.
func (d Dialect) encodeSystem(texts []string, breakpoints int) jsontext.Value {
	if d.CacheField == "" {
		return wire.Quote(strings.Join(texts, "\n"))
	}
	var parts []part
	for i, text := range texts {
		p := textPart(text)
		if i < breakpoints {
			p = d.withBreakpoint(p)
		}
		parts = append(parts, p)
	}
	return wire.MarshalOr(parts, wire.Quote(strings.Join(texts, "\n")))
}

// resultText returns the content of a result. Empty content cannot have a breakpoint.
func (d Dialect) resultText(text string) jsontext.Value {
	if d.CacheField == "" || strings.TrimSpace(text) == "" {
		return wire.Quote(text)
	}
	return wire.MarshalOr([]part{textPart(text)}, wire.Quote(text))
}

// markLast sets a breakpoint on the last message if it is a user message or a result that is not empty.
func (c *conversation) markLast() {
	if c.d.CacheField == "" {
		return
	}
	if n := len(c.user); n > 0 {
		c.user[n-1] = c.d.withBreakpoint(c.user[n-1])
		return
	}
	if len(c.out) == 0 {
		return
	}
	last := &c.out[len(c.out)-1]
	if last.Role == "tool" && last.Content.Kind() == '[' {
		var parts []part
		if json.Unmarshal(last.Content, &parts, wire.Foreign) == nil && len(parts) == 1 {
			last.Content = wire.MarshalOr([]part{c.d.withBreakpoint(parts[0])}, last.Content)
		}
	}
}
