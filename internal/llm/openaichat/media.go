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

// mediaPart returns m as a part if Chat endpoints accept its type and size.
func mediaPart(m llm.Media) (part, bool) {
	url, isImage, ok := wire.EncodeMediaURL(m)
	switch {
	case !ok:
		return part{}, false
	case isImage:
		return part{Type: "image_url", ImageURL: &imageURL{URL: url}}, true
	}
	name := strings.ToValidUTF8(m.Name, "\uFFFD")
	return part{Type: "file", File: &file{cmp.Or(name, "document.pdf"), url}}, len(m.Data) > 0
}
