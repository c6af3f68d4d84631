package turnlog

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// Call is one complete tool call of an answer.
type Call struct {
	PartID  session.PartID
	ID      string // the provider's
	Name    string
	Input   jsontext.Value // an object
	Invalid string         // what is wrong with the arguments; "" if valid
	Cut     bool           // the answer reached its limit of output tokens within the arguments
	Ran     time.Time      // when an earlier process recorded the call; zero if this one did

	// Extensions is what extensions decided about the call before it was recorded; nil if none took part.
	Extensions *session.CallExtensions
	// EnvironmentBy are the extensions that added variables to the environment of its command.
	EnvironmentBy []string

	meta    jsontext.Value
	hosted  bool // the provider runs it
	settled bool // a hosted call has its result
}

func (c *Call) calledEvent() *session.ToolCalled {
	return &session.ToolCalled{
		CallID: c.ID, PartID: c.PartID, Tool: c.Name, Input: c.Input,
		Provider: session.CallProvider{Executed: c.hosted, Metadata: c.meta}, Extensions: c.Extensions,
	}
}

// RunsWith returns the input that the call runs with.
func (c *Call) RunsWith() jsontext.Value {
	if c.Extensions != nil && len(c.Extensions.Input) > 0 {
		return c.Extensions.Input
	}
	return c.Input
}

// wrapInput returns the arguments as the object that is stored: any other value becomes its member "value".
func wrapInput(v jsontext.Value) jsontext.Value {
	switch {
	case len(v) == 0 || !v.IsValid():
		return jsontext.Value(`{}`)
	case v.Kind() == '{':
		return v
	default:
		return jsontext.Value(`{"value":` + string(v) + `}`)
	}
}

// hostedContent returns the content of a hosted result, with media as data URIs.
func hostedContent(parts []llm.Part) []session.ToolContent {
	out := []session.ToolContent{}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Media:
			uri := session.EncodeDataURI(p.MediaType, p.Data)
			out = append(out, session.ToolContent{Type: "file", URI: uri, Mime: p.MediaType, Name: p.Name})
		case llm.Text:
			out = append(out, session.ToolContent{Type: "text", Text: p.Text})
		}
	}
	return out
}

// PriceOf returns the cost and the tokens of a request. Tokens without a known cost count as unpriced. Without a cost
// function, requests cost nothing.
func PriceOf(cost func(llm.Usage) (session.USD, bool), u llm.Usage) (session.USD, session.Tokens) {
	tokens := tokensOf(u)
	if cost == nil {
		return 0, tokens
	}
	usd, known := cost(u)
	if !known {
		usd, tokens.Unpriced = 0, tokens.Sum()
	}
	return usd, tokens
}

// tokensOf converts a provider's inclusive counts into exclusive ones: input without cache, output without reasoning.
func tokensOf(u llm.Usage) session.Tokens {
	return session.Tokens{
		Input:  max(0, u.Input-u.CacheRead-u.CacheWrite),
		Output: max(0, u.Output-u.Reasoning), Reasoning: max(0, u.Reasoning),
		Cache: session.CacheUsage{Read: max(0, u.CacheRead), Write: max(0, u.CacheWrite)}, Total: max(0, u.Total),
	}
}
