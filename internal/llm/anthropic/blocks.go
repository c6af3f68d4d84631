package anthropic

import (
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// callIDPrefix begins the ids of calls that are not valid as they are.
const callIDPrefix = "toolu_"

// block is a part of a message in the request.
type block struct {
	Type      string         `json:"type"`
	ID        string         `json:"id,omitempty"`
	Name      string         `json:"name,omitempty"`
	Server    string         `json:"server_name,omitempty"`
	Input     jsontext.Value `json:"input,omitzero"`
	ToolUseID string         `json:"tool_use_id,omitempty"`
	Text      string         `json:"text,omitempty"`
	Thinking  *string        `json:"thinking,omitzero"`
	Signature string         `json:"signature,omitempty"`
	Data      string         `json:"data,omitempty"`
	Source    *source        `json:"source,omitzero"`
	Title     string         `json:"title,omitempty"`
	Content   jsontext.Value `json:"content,omitzero"`
	IsError   bool           `json:"is_error,omitzero"`
	Citations jsontext.Value `json:"citations,omitzero"`
	Caller    jsontext.Value `json:"caller,omitzero"`
	Cache     *cacheControl  `json:"cache_control,omitzero"`
}

type source struct {
	Type      string `json:"type"`
	MediaType string `json:"media_type,omitempty"`
	Data      string `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type cacheControl struct {
	Type string `json:"type"`
	TTL  string `json:"ttl,omitempty"`
}

// markBlocks sets a cache breakpoint on every block, with the vendor's lifetime or ttl.
func markBlocks(blocks []block, ttl string) {
	for i := range blocks {
		blocks[i].Cache = &cacheControl{"ephemeral", ttl}
	}
}

// markLast sets a cache breakpoint on the last block that accepts one: reasoning does not.
func markLast(blocks []block, ttl string) {
	for i := len(blocks) - 1; i >= 0; i-- {
		if blocks[i].Type != "thinking" && blocks[i].Type != "redacted_thinking" {
			markBlocks(blocks[i:i+1], ttl)
			return
		}
	}
}

// textBlock returns a block of text; false for blank text, which the protocol refuses.
func textBlock(text string) (block, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return block{Type: "text", Text: text}, strings.TrimSpace(text) != ""
}

func noteBlock(text string) block {
	return block{Type: "text", Text: strings.ToValidUTF8(text, "\uFFFD")}
}

// mediaBlock returns m as an image or a document, or as a note if the protocol does not accept it.
func mediaBlock(m llm.Media) block {
	kind := wire.MediaType(m.MediaType)
	none := noteBlock(wire.MediaNote(m, "this model's interface takes PNG, JPEG, GIF and WebP images, PDF and text only"))
	if (len(m.Data) == 0 && m.URL == "") || len(m.Data) > wire.MaxMedia {
		return none
	}
	switch {
	case kind == "image/png" || kind == "image/jpeg" || kind == "image/gif" || kind == "image/webp":
		return block{Type: "image", Source: sourceOf(m, kind)}
	case kind == "application/pdf":
		return block{Type: "document", Source: sourceOf(m, kind), Title: strings.ToValidUTF8(m.Name, "\uFFFD")}
	case strings.HasPrefix(kind, "text/") && len(m.Data) > 0 && utf8.Valid(m.Data) &&
		strings.TrimSpace(string(m.Data)) != "":
		return block{
			Type: "document", Title: strings.ToValidUTF8(m.Name, "\uFFFD"),
			Source: &source{Type: "text", MediaType: "text/plain", Data: string(m.Data)},
		}
	default:
		return none
	}
}

func sourceOf(m llm.Media, kind string) *source {
	if len(m.Data) == 0 {
		return &source{Type: "url", URL: m.URL}
	}
	return &source{Type: "base64", MediaType: kind, Data: base64.StdEncoding.EncodeToString(m.Data)}
}

func callBlock(p llm.ToolCall) block {
	return block{
		Type: "tool_use", ID: wire.NormalizeCallID(p.ID, callIDPrefix), Name: wire.NormalizeToolName(p.Name),
		Input: wire.NormalizeInput(p.Input),
	}
}

// resultBlock returns the outcome of a local call. The content of a failed call must be text and not empty.
func resultBlock(r llm.ToolResult) block {
	// Encode the parts. A failed result may hold text only, so its images become notes.
	var content []block
	for _, p := range r.Content {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				content = append(content, b)
			}
		case llm.Media:
			b := mediaBlock(p)
			if r.IsError && b.Type != "text" {
				b = noteBlock(wire.MediaNote(p, "the result of a call that failed is text"))
			}
			content = append(content, b)
		}
	}
	// A result without parts: send its raw value, or a note, because the API refuses an empty failed result.
	if len(content) == 0 && len(r.Raw) > 0 {
		content = []block{noteBlock(string(r.Raw))}
	}
	if len(content) == 0 && r.IsError {
		content = []block{noteBlock("The tool failed without saying why.")}
	}
	// One text is sent as a string, anything else as a list of blocks.
	b := block{Type: "tool_result", ToolUseID: wire.NormalizeCallID(r.ID, callIDPrefix), IsError: r.IsError}
	switch {
	case len(content) == 1 && content[0].Type == "text":
		b.Content = wire.Quote(content[0].Text)
	case len(content) > 0:
		b.Content = wire.MarshalOr(content, nil)
	}
	return b
}
