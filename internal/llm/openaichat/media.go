package openaichat

import (
	"cmp"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func textPart(s string) part { return part{Type: "text", Text: &s} }

func userParts(parts []llm.Part) []part {
	return wire.ConvertParts(parts, textPart, mediaPart, wire.MediaURLNote)
}

// mediaPart returns m as a part if it is an image or a document that Chat endpoints take and that is not too large.
func mediaPart(m llm.Media) (part, bool) {
	url, image, ok := wire.EncodeMediaURL(m)
	switch {
	case !ok:
		return part{}, false
	case image:
		return part{Type: "image_url", ImageURL: &imageURL{URL: url}}, true
	}
	name := strings.ToValidUTF8(m.Name, "\uFFFD")
	return part{Type: "file", File: &file{cmp.Or(name, "document.pdf"), url}}, len(m.Data) > 0
}
