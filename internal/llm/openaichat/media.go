package openaichat

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func textPart(s string) part { return part{Type: "text", Text: &s} }

func userParts(parts []llm.Part) []part {
	return wire.Parts(parts, textPart, mediaPart, mediaNote)
}

// mediaPart returns m as a part if it is an image or a document that Chat endpoints take and that is not too large.
func mediaPart(m llm.Media) (part, bool) {
	kind := wire.MediaType(m.MediaType)
	url := m.URL
	if len(m.Data) > 0 {
		url = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	}
	if url == "" || len(m.Data) > wire.MaxMedia {
		return part{}, false
	}
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return part{Type: "image_url", ImageURL: &imageURL{URL: url}}, true
	case "application/pdf":
		name := strings.ToValidUTF8(m.Name, "\uFFFD")
		return part{Type: "file", File: &file{cmp.Or(name, "document.pdf"), url}}, len(m.Data) > 0
	}
	return part{}, false
}

func mediaNote(m llm.Media) string {
	return wire.MediaNote(m, "this model's interface takes PNG, JPEG, GIF and WebP images and PDF documents only")
}
