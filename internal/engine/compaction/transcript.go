package compaction

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/session"
)

// maxOutput bounds the part of a tool's output that the writer of a summary reads, in bytes, as in OpenCode.
const maxOutput = 2000

// WriteTranscript returns the messages as text for the writer of a summary, one entry per message. Instructions from
// the system context are left out: they are rendered anew from their sources. Long outputs are cut, media only named.
func WriteTranscript(ms []session.Message) []string {
	var out []string
	for _, m := range ms {
		if text := describeMessage(m); text != "" {
			out = append(out, text)
		}
	}
	return out
}

func describeMessage(m session.Message) string {
	switch m := m.(type) {
	case *session.User:
		return describePrompt(m)
	case *session.Synthetic:
		return "[user, written by the program]: " + m.Text
	case *session.Shell:
		return "[user ran a command]: " + m.Command + "\n[its output]: " + cutOutput(m.Output)
	case *session.Assistant:
		return describeTurn(m)
	default:
		return ""
	}
}

func describePrompt(m *session.User) string {
	var b strings.Builder
	b.WriteString("[user]: " + m.Text)
	for _, f := range m.Files {
		name := f.Name
		if name == "" && !strings.HasPrefix(f.URI, "data:") {
			name = f.URI
		}
		fmt.Fprintf(&b, "\n[attached %s: %s]", f.Mime, name)
		if f.Text != "" {
			b.WriteString(" " + cutOutput(f.Text))
		}
	}
	return b.String()
}

func describeTurn(m *session.Assistant) string {
	var lines []string
	for _, c := range m.Content {
		switch it := c.(type) {
		case *session.Text:
			if strings.TrimSpace(it.Text) != "" {
				lines = append(lines, "[assistant]: "+it.Text)
			}
		case *session.Reasoning:
			if strings.TrimSpace(it.Text) != "" {
				lines = append(lines, "[assistant, thinking]: "+cutOutput(it.Text))
			}
		case *session.Tool:
			lines = append(lines, describeCall(it)...)
		}
	}
	if m.Error != nil {
		lines = append(lines, "[this answer failed]: "+m.Error.Message)
	}
	return strings.Join(lines, "\n")
}

func describeCall(t *session.Tool) []string {
	lines := []string{fmt.Sprintf("[assistant calls %s]: %s", t.Name, cutOutput(string(t.State.Input)))}
	switch {
	case t.State.Error != nil:
		return append(lines, "[the call failed]: "+cutOutput(t.State.Error.Message))
	case t.Time.Pruned != 0:
		return append(lines, "[its output was removed]")
	}
	for _, c := range t.State.Content {
		if c.Type == "file" {
			lines = append(lines, fmt.Sprintf("[output: %s %s]", c.Mime, c.Name))
		} else if c.Text != "" {
			lines = append(lines, "[output]: "+cutOutput(c.Text))
		}
	}
	return lines
}

// cutOutput returns the text, cut to maxOutput.
func cutOutput(text string) string { return cutText(text, maxOutput) }

// cutText returns the beginning of a text that is longer than limit, in bytes, with a note of what is missing.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	end := limit
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s … (%d bytes left out)", text[:end], len(text)-end)
}

// SplitTranscript divides the entries into pieces of at most maxBytes, in order. A longer entry continues in the next
// pieces. At most maxPieces are returned: what is in the middle of a longer transcript is left out, with a note.
func SplitTranscript(entries []string, maxBytes int) []string {
	const maxPieces = 8
	// Fill one piece after the other.
	var pieces []string
	var b strings.Builder
	for _, e := range entries {
		for _, part := range divideEntry(e, maxBytes) {
			if b.Len() > 0 && b.Len()+len(part)+2 > maxBytes {
				pieces = append(pieces, b.String())
				b.Reset()
			}
			if b.Len() > 0 {
				b.WriteString("\n\n")
			}
			b.WriteString(part)
		}
	}
	if b.Len() > 0 {
		pieces = append(pieces, b.String())
	}
	if len(pieces) <= maxPieces {
		return pieces
	}
	// Keep the first piece and the newest ones.
	note := fmt.Sprintf("[%d parts of the conversation are left out here]", len(pieces)-maxPieces)
	newest := pieces[len(pieces)-maxPieces+1:]
	newest[0] = note + "\n\n" + newest[0]
	return append([]string{pieces[0]}, newest...)
}

// divideEntry divides a text into parts of at most maxBytes, and at least one character.
func divideEntry(text string, maxBytes int) (parts []string) {
	for len(text) > maxBytes {
		end := maxBytes
		for end > 0 && !utf8.RuneStart(text[end]) {
			end--
		}
		if end == 0 {
			_, end = utf8.DecodeRuneInString(text)
		}
		parts, text = append(parts, text[:end]), text[end:]
	}
	return append(parts, text)
}
