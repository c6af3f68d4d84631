package openaichat

import (
	"encoding/base64"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

func textPart(s string) part { return part{Type: "text", Text: &s} }

func userParts(parts []llm.Part) []part {
	var out []part
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				out = append(out, textPart(p.Text))
			}
		case llm.Media:
			if image, ok := imagePart(p); ok {
				out = append(out, image)
				continue
			}
			out = append(out, textPart(mediaNote(p)))
		}
	}
	return out
}

// imagePart returns m as an image part if it is an image that Chat endpoints take and that is not too large.
func imagePart(m llm.Media) (part, bool) {
	kind := wire.MediaType(m.MediaType)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return part{}, false
	}
	url := m.URL
	if len(m.Data) > 0 {
		url = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	}
	if url == "" || len(m.Data) > wire.MaxMedia {
		return part{}, false
	}
	return part{Type: "image_url", ImageURL: &imageURL{URL: url}}, true
}

func mediaNote(m llm.Media) string {
	return wire.MediaNote(m, "this model's interface takes PNG, JPEG, GIF and WebP images only")
}
