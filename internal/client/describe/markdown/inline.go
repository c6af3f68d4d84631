package markdown

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

// The bounds of emphasis: how deep it is nested, and how many bytes it spans.
const (
	maxDepth = 3
	maxSpan  = 1000
)

// styleInline styles emphasis, code and links within a line. Marks without an end stay as they are.
func styleInline(th style.Theme, text string) string { return inline{th, 0}.styleText(text) }

// inline styles text at a depth of emphasis.
type inline struct {
	theme style.Theme
	depth int
}

func (p inline) styleText(text string) string {
	if p.depth >= maxDepth || !strings.ContainsAny(text, "*_`[\\~") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		styled, n := p.styleSpan(text, i)
		if n == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(styled)
		i += n
	}
	return b.String()
}

// styleSpan styles the span that begins at i. n is how many bytes it has, 0 if none begins there.
func (p inline) styleSpan(text string, i int) (styled string, n int) {
	th, rest := p.theme, text[i:]
	// By the first byte: an escape, code, emphasis, strikethrough, a link.
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("\\`*_[]()#+-.!~|<>", rest[1]) >= 0 {
			return rest[1:2], 2
		}
	case '`':
		ticks := len(rest) - len(strings.TrimLeft(rest, "`"))
		if end := strings.Index(rest[ticks:min(len(rest), ticks+maxSpan)], rest[:ticks]); end > 0 {
			return th.Code.Render(rest[ticks : ticks+end]), end + 2*ticks
		}
		return rest[:ticks], ticks
	case '*', '_':
		if rest[0] == '_' && i > 0 && isWord(text[i-1]) { // snake_case
			return "", 0
		}
		// Bold before italic, because the mark of italic begins that of bold, too.
		for _, mark := range []string{rest[:1] + rest[:1], rest[:1]} {
			inner, ok := cutEmphasis(rest, mark)
			if !ok {
				continue
			}
			st := th.Text.Italic(true)
			if len(mark) == 2 {
				st = th.Text.Bold(true)
			}
			return st.Render(inline{th, p.depth + 1}.styleText(inner)), len(inner) + 2*len(mark)
		}
	case '~':
		if inner, ok := cutEmphasis(rest, "~~"); ok {
			return th.Text.Strikethrough(true).Render(inner), len(inner) + 4
		}
	case '[':
		label, after, ok := strings.Cut(rest[1:min(len(rest), maxSpan)], "](")
		if target, _, closed := strings.Cut(after, ")"); ok && closed && !strings.ContainsAny(label, "[]") {
			// Show the target as well, unless it is the label.
			n = 1 + len(label) + 2 + len(target) + 1
			if label == target {
				return th.Accent.Render(label), n
			}
			return th.Accent.Render(label) + th.Muted.Render(" ("+target+")"), n
		}
	}
	return "", 0
}

// cutEmphasis returns the text between the mark at the beginning and the next one, which must touch it.
func cutEmphasis(text, mark string) (inner string, ok bool) {
	after, ok := strings.CutPrefix(text, mark)
	if !ok {
		return "", false
	}
	after = after[:min(len(after), maxSpan)]
	for at := 0; ; {
		end := strings.Index(after[at:], mark)
		if end < 0 {
			return "", false
		}
		end += at
		inner = after[:end]
		next := end + len(mark)
		ends := inner != "" && inner[0] != ' ' && inner[len(inner)-1] != ' ' &&
			(mark[0] != '_' || next == len(after) || !isWord(after[next]))
		if ends && (len(mark) > 1 || next == len(after) || after[next] != mark[0]) {
			return inner, true
		}
		at = next
		if len(mark) == 1 && at < len(after) && after[at] == mark[0] {
			at++
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}
