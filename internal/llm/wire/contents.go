package wire

import "github.com/cairn-dev/cairn/internal/llm"

// Contents tells a result apart: its lines of text, and the media that the protocol takes. For what media refuses, note
// gives a line. A result without content says what the provider's own tool returned.
func Contents[P any](r llm.ToolResult, media func(llm.Media) (P, bool), note func(llm.Media) string) (lines []string, taken []P) {
	for _, p := range r.Content {
		switch p := p.(type) {
		case llm.Text:
			lines = append(lines, p.Text)
		case llm.Media:
			if part, ok := media(p); ok {
				taken = append(taken, part)
				continue
			}
			lines = append(lines, note(p))
		}
	}
	if len(r.Content) == 0 && len(r.Raw) > 0 {
		lines = append(lines, string(r.Raw))
	}
	return lines, taken
}

// Parts returns texts that are not empty and media in their order, as parts of a protocol; a note stands for what media
// refuses.
func Parts[P any](parts []llm.Part, text func(string) P, media func(llm.Media) (P, bool), note func(llm.Media) string) []P {
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
