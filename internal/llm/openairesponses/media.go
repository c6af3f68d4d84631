package openairesponses

import (
	"cmp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// part is a piece of a message, of a result, or of a summary.
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

// mediaPart returns m as a part if it is an image or a document that the endpoint takes and not too large.
func mediaPart(m llm.Media) (part, bool) {
	url, image, ok := wire.EncodeMediaURL(m)
	switch {
	case !ok:
		return part{}, false
	case image:
		return part{Type: "input_image", ImageURL: url}, true
	case len(m.Data) == 0:
		return part{Type: "input_file", FileURL: url}, true
	}
	return part{Type: "input_file", Filename: cmp.Or(m.Name, "document.pdf"), FileData: url}, true
}

// encodeOutput is a result as the vendor takes it: a string if it is all text, else a list of parts.
func encodeOutput(r llm.ToolResult) jsontext.Value {
	text, media := splitResult(r)
	if !media {
		return wire.Quote(text)
	}
	return wire.MarshalOr(contentParts(r.Content), wire.Quote("[unreadable result]"))
}

// splitResult returns the text of a result, and whether there is more than text in it.
func splitResult(r llm.ToolResult) (text string, media bool) {
	lines, taken := wire.SplitResult(r, mediaPart, wire.MediaURLNote)
	return strings.Join(lines, "\n"), len(taken) > 0
}
