package bedrock

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// callIDPrefix begins the ids of calls that are not valid as they are.
const callIDPrefix = "tooluse_"

// block is a part of a message in the request. Exactly one field is set.
type block struct {
	Text       string            `json:"text,omitempty"`
	Image      *media            `json:"image,omitzero"`
	Document   *media            `json:"document,omitzero"`
	ToolUse    *toolUse          `json:"toolUse,omitzero"`
	ToolResult *toolResult       `json:"toolResult,omitzero"`
	Reasoning  *reasoningContent `json:"reasoningContent,omitzero"`
	CachePoint *point            `json:"cachePoint,omitzero"`
}

type media struct {
	Format string `json:"format"`
	Name   string `json:"name,omitempty"`
	Source source `json:"source"`
}

type source struct {
	Bytes string `json:"bytes"`
}

type toolUse struct {
	ID    string         `json:"toolUseId"`
	Name  string         `json:"name"`
	Input jsontext.Value `json:"input"`
}

type toolResult struct {
	ID      string  `json:"toolUseId"`
	Content []block `json:"content"`
	Status  string  `json:"status,omitempty"`
}

type reasoningContent struct {
	Text     *reasoningText `json:"reasoningText,omitzero"`
	Redacted string         `json:"redactedContent,omitempty"`
}

type reasoningText struct {
	Text      string `json:"text"`
	Signature string `json:"signature,omitempty"`
}

type point struct {
	Type string `json:"type"`
}

var cachePoint = block{CachePoint: &point{Type: "default"}}

// textBlock returns a block of text; false for blank text, which the protocol refuses.
func textBlock(text string) (block, bool) {
	text = strings.ToValidUTF8(text, "\uFFFD")
	return block{Text: text}, strings.TrimSpace(text) != ""
}

func noteBlock(text string) block { return block{Text: strings.ToValidUTF8(text, "\uFFFD")} }

// imageFormats and documentFormats map media types to the protocol's names.
var imageFormats = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

var documentFormats = map[string]string{
	"application/pdf": "pdf", "text/csv": "csv", "text/html": "html", "text/plain": "txt", "text/markdown": "md",
	"application/msword": "doc", "application/vnd.ms-excel": "xls",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":       "xlsx",
}

// maxMediaSize is the maximum bytes of an image (true) and of a document (false).
var maxMediaSize = map[bool]int{true: 3_750_000, false: 4_500_000}

// mediaBlock returns m as an image or a document, or as a note if the protocol does not accept it.
func (c *conversation) mediaBlock(m llm.Media) block {
	kind := wire.MediaType(m.MediaType)
	if len(m.Data) == 0 || len(m.Data) > wire.MaxMedia {
		return noteBlock(wire.MediaNote(m, "this model's interface takes bytes, and no addresses"))
	}
	if limit := maxMediaSize[imageFormats[kind] != ""]; len(m.Data) > limit {
		return noteBlock(
			wire.MediaNote(
				m,
				fmt.Sprintf(
					"it is %.1f MB large, and this model's interface takes %.2f", float64(len(m.Data))/1e6, float64(limit)/1e6,
				),
			),
		)
	}
	bytes := source{base64.StdEncoding.EncodeToString(m.Data)}
	if format := imageFormats[kind]; format != "" {
		return block{Image: &media{Format: format, Source: bytes}}
	}
	if format := documentFormats[kind]; format != "" {
		return block{Document: &media{Format: format, Name: c.documentName(m.Name), Source: bytes}}
	}
	return noteBlock(wire.MediaNote(m, "this model's interface takes images, PDF, text and office documents only"))
}

// documentName returns a valid name that is unique in the request.
func (c *conversation) documentName(name string) string {
	const limit = 150
	name = strings.Map(func(r rune) rune {
		if wire.IsWord(string(r), "()[]-") {
			return r
		}
		return ' '
	}, name)
	name = strings.Join(strings.Fields(name), " ")
	if name = name[:min(len(name), limit)]; name == "" {
		name = "document"
	}
	c.documents[name]++
	if n := c.documents[name]; n > 1 {
		return c.documentName(fmt.Sprintf("%s (%d)", name, n))
	}
	return name
}

// newReasoning returns earlier reasoning as the provider signed it; false without a signature.
func newReasoning(p llm.Reasoning) (block, bool) {
	signature, redacted := wire.ReasoningMetadata(p, namespace)
	if redacted != "" {
		return block{Reasoning: &reasoningContent{Redacted: redacted}}, true
	}
	text := reasoningText{strings.ToValidUTF8(p.Text, "\uFFFD"), signature}
	return block{Reasoning: &reasoningContent{Text: &text}}, signature != ""
}

func isCall(b block) bool { return b.ToolUse != nil }

func isReasoning(b block) bool { return b.Reasoning != nil }
