package openaichat

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
)

// maxImage bounds the decoded size of one image (spec/v2 §20.1 LM-5).
const maxImage = 20 << 20

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
	kind := mediaType(m.MediaType)
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
	default:
		return part{}, false
	}
	url := m.URL
	if len(m.Data) > 0 {
		url = "data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(m.Data)
	}
	if url == "" || len(m.Data) > maxImage {
		return part{}, false
	}
	return part{Type: "image_url", ImageURL: &imageURL{URL: url}}, true
}

// mediaType returns the bare, lower-case type of a Content-Type value, in its usual spelling.
func mediaType(s string) string {
	s, _, _ = strings.Cut(s, ";")
	s = strings.ToLower(strings.TrimSpace(s))
	if s == "image/jpg" {
		return "image/jpeg"
	}
	return s
}

// mediaNote stands for media that this protocol does not carry.
func mediaNote(m llm.Media) string {
	name := m.Name
	if name == "" {
		name = "unnamed"
	}
	why := "this model's interface takes PNG, JPEG, GIF and WebP images only"
	switch {
	case len(m.Data) > maxImage:
		why = fmt.Sprintf("it is %d MiB large, and %d MiB is the limit", len(m.Data)>>20, maxImage>>20)
	case len(m.Data) == 0 && m.URL == "":
		why = "it is empty"
	}
	return fmt.Sprintf("[attachment %q (%s) was left out: %s]", name, mediaType(m.MediaType), why)
}

// hostedCallNote and hostedResultNote tell about a tool that another provider ran on its side; Chat has no words for
// it, and a history that holds one must still be sendable.
func hostedCallNote(p llm.ToolCall) string {
	return fmt.Sprintf("[%s was run by the provider with %s]", p.Name, p.Input)
}

func hostedResultNote(p llm.ToolResult) string {
	text, _ := resultContent(p)
	return fmt.Sprintf("[%s returned: %s]", p.Name, text)
}
