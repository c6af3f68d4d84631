package openairesponses

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// part is a part of a message, of a result, or of a summary.
type part struct {
	Type     string  `json:"type"`
	Text     *string `json:"text,omitzero"`
	ImageURL string  `json:"image_url,omitempty"`
	Filename string  `json:"filename,omitempty"`
	FileData string  `json:"file_data,omitempty"`
	FileURL  string  `json:"file_url,omitempty"`
}

func textPart(s string) part { return part{Type: "input_text", Text: &s} }

func contentParts(parts []llm.Part) []part {
	return wire.ConvertParts(parts, textPart, mediaPart, wire.MediaURLNote)
}

// mediaPart returns m as a part if the endpoint accepts its type and size.
func mediaPart(m llm.Media) (part, bool) {
	url, isImage, ok := wire.EncodeMediaURL(m)
	switch {
	case !ok:
		return part{}, false
	case isImage:
		return part{Type: "input_image", ImageURL: url}, true
	case len(m.Data) == 0:
		return part{Type: "input_file", FileURL: url}, true
	}
	return part{Type: "input_file", Filename: cmp.Or(m.Name, "document.pdf"), FileData: url}, true
}

// encodeOutput returns a result: a string if it is all text, else a list of parts.
func encodeOutput(r llm.ToolResult) jsontext.Value {
	text, hasMedia := splitResult(r)
	if !hasMedia {
		return wire.Quote(text)
	}
	return wire.MarshalOr(contentParts(r.Content), wire.Quote("[unreadable result]"))
}

// splitResult returns the text of a result, and whether it also has media.
func splitResult(r llm.ToolResult) (text string, hasMedia bool) {
	lines, taken := wire.SplitResult(r, mediaPart, wire.MediaURLNote)
	return strings.Join(lines, "\n"), len(taken) > 0
}
