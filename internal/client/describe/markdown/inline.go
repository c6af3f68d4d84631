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

// painter writes the spans of a line.
type painter interface {
	plain(text string) string
	code(text string) string
	emphasis(mark, inner string) string // of the mark *, _, **, __ or ~~; inner is painted
	link(label, target string) string
}

// styleInline styles emphasis, code and links within a line. Marks without an end stay as they are.
func styleInline(th style.Theme, text string) string {
	return inline{themePainter{th}, 0}.styleText(text)
}

// inline styles text at a depth of emphasis.
type inline struct {
	painter
	depth int
}

func (p inline) styleText(text string) string {
	if p.depth >= maxDepth || !strings.ContainsAny(text, "*_`[\\~") {
		return p.plain(text)
	}
	var b strings.Builder
	begin := 0 // of the plain text before i
	for i := 0; i < len(text); {
		styled, n := p.styleSpan(text, i)
		if n == 0 {
			i++
			continue
		}
		b.WriteString(p.plain(text[begin:i]) + styled)
		i += n
		begin = i
	}
	return b.String() + p.plain(text[begin:])
}

// themePainter paints for a terminal.
type themePainter struct{ theme style.Theme }

func (p themePainter) plain(text string) string { return text }
func (p themePainter) code(text string) string  { return p.theme.Code.Render(text) }

func (p themePainter) emphasis(mark, inner string) string {
	switch {
	case mark == "~~":
		return p.theme.Text.Strikethrough(true).Render(inner)
	case len(mark) == 2:
		return p.theme.Text.Bold(true).Render(inner)
	default:
		return p.theme.Text.Italic(true).Render(inner)
	}
}

// link shows the target as well, unless it is the label.
func (p themePainter) link(label, target string) string {
	if label == target {
		return p.theme.Accent.Render(label)
	}
	return p.theme.Accent.Render(label) + p.theme.Muted.Render(" ("+target+")")
}

// styleSpan styles the span that begins at i. n is how many bytes it has, 0 if none begins there.
func (p inline) styleSpan(text string, i int) (styled string, n int) {
	rest := text[i:]
	// By the first byte: an escape, code, emphasis, strikethrough, a link.
	switch rest[0] {
	case '\\':
		if len(rest) > 1 && strings.IndexByte("\\`*_[]()#+-.!~|<>", rest[1]) >= 0 {
			return p.plain(rest[1:2]), 2
		}
	case '`':
		ticks := len(rest) - len(strings.TrimLeft(rest, "`"))
		if end := strings.Index(rest[ticks:min(len(rest), ticks+maxSpan)], rest[:ticks]); end > 0 {
			return p.code(rest[ticks : ticks+end]), end + 2*ticks
		}
		return p.plain(rest[:ticks]), ticks
	case '*', '_':
		if rest[0] == '_' && i > 0 && isWord(text[i-1]) { // snake_case
			return "", 0
		}
		// Bold before italic, because the mark of italic begins that of bold, too.
		for _, mark := range []string{rest[:1] + rest[:1], rest[:1]} {
			if inner, ok := cutEmphasis(rest, mark); ok {
				return p.emphasis(mark, inline{p.painter, p.depth + 1}.styleText(inner)), len(inner) + 2*len(mark)
			}
		}
	case '~':
		if inner, ok := cutEmphasis(rest, "~~"); ok {
			return p.emphasis("~~", p.plain(inner)), len(inner) + 4
		}
	case '[':
		label, after, ok := strings.Cut(rest[1:min(len(rest), maxSpan)], "](")
		if target, _, closed := strings.Cut(after, ")"); ok && closed && !strings.ContainsAny(label, "[]") {
			return p.link(label, target), 1 + len(label) + 2 + len(target) + 1
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
