package wire

import "github.com/cairn-dev/cairn/internal/llm"

// SplitResult separates a tool result into its lines of text and the media that convert accepts; for other media, note
// returns a line. If the result has no content, its raw form is the line.
func SplitResult[P any](
	r llm.ToolResult, convert func(llm.Media) (P, bool), note func(llm.Media) string,
) (lines []string, media []P) {
	for _, p := range r.Content {
		switch p := p.(type) {
		case llm.Text:
			lines = append(lines, p.Text)
		case llm.Media:
			if part, ok := convert(p); ok {
				media = append(media, part)
				continue
			}
			lines = append(lines, note(p))
		}
	}
	if len(r.Content) == 0 && len(r.Raw) > 0 {
		lines = append(lines, string(r.Raw))
	}
	return lines, media
}

// ConvertParts converts the texts that are not empty and the media of parts, in order, to a protocol's parts. A note
// replaces media that the protocol does not accept.
func ConvertParts[P any](
	parts []llm.Part, text func(string) P, media func(llm.Media) (P, bool), note func(llm.Media) string,
) []P {
	var out []P
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if p.Text != "" {
				out = append(out, text(p.Text))
			}
		case llm.Media:
			part, ok := media(p)
			if !ok {
				part = text(note(p))
			}
			out = append(out, part)
		}
	}
	return out
}
