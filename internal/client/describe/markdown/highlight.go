package markdown

import (
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/client/describe/style"
)

// highlighter styles lines of code: comments, strings, numbers, and words that most languages reserve. It knows no
// grammar; a line that it reads wrongly is only coloured wrongly.
type highlighter struct {
	theme    style.Theme
	comments []string // the beginnings of comments up to the end of the line
	diff     bool
	plain    bool
	block    bool // within a comment of several lines
}

// newHighlighter returns a highlighter for the language that follows the fence.
func newHighlighter(th style.Theme, info string) highlighter {
	language, _, _ := strings.Cut(strings.ToLower(info), " ")
	h := highlighter{theme: th}
	switch language {
	case "diff", "patch":
		h.diff = true
	case "", "text", "txt", "plain", "console", "output", "markdown", "md", "csv", "log":
		h.plain = true
	case "python", "py", "sh", "bash", "zsh", "shell", "fish", "yaml", "yml", "toml", "ruby", "rb", "perl", "r",
		"makefile", "make", "dockerfile", "elixir", "nix", "conf", "ini", "powershell", "ps1":
		h.comments = []string{"#"}
	case "sql", "lua", "haskell", "hs", "elm", "ada":
		h.comments = []string{"--"}
	case "lisp", "clojure", "clj", "scheme", "asm":
		h.comments = []string{";"}
	default:
		h.comments = []string{"//"}
	}
	return h
}

// styleLine returns the line with styles. Lines of a code block are passed in order.
func (h *highlighter) styleLine(line string) string {
	if h.plain {
		return h.theme.Code.Render(line)
	}
	if h.diff {
		return styleDiffLine(h.theme, line)
	}
	var b strings.Builder
	for i := 0; i < len(line); {
		n, st := h.nextToken(line[i:])
		text := line[i : i+n]
		switch st {
		case tokenComment:
			b.WriteString(h.theme.Muted.Render(text))
		case tokenString:
			b.WriteString(h.theme.Added.Render(text))
		case tokenWord:
			b.WriteString(h.theme.Accent.Render(text))
		case tokenNumber:
			b.WriteString(h.theme.Warning.UnsetBold().Render(text))
		default:
			b.WriteString(text)
		}
		i += n
	}
	return b.String()
}

func styleDiffLine(th style.Theme, line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return th.Added.Render(line)
	case strings.HasPrefix(line, "-"):
		return th.Removed.Render(line)
	case strings.HasPrefix(line, "@@"):
		return th.Accent.Render(line)
	default:
		return line
	}
}

// codeToken is the kind of a piece of code.
type codeToken int

const (
	tokenText codeToken = iota
	tokenComment
	tokenString
	tokenWord
	tokenNumber
)

// nextToken returns the length and kind of the token with which the text, which is not empty, begins.
func (h *highlighter) nextToken(text string) (n int, kind codeToken) {
	// In a block comment only its end counts.
	if h.block {
		if end := strings.Index(text, "*/"); end >= 0 {
			h.block = false
			return end + 2, tokenComment
		}
		return len(text), tokenComment
	}
	// A line comment extends to the end. A block comment may end on the same line, so look for its end.
	for _, mark := range h.comments {
		if strings.HasPrefix(text, mark) {
			return len(text), tokenComment
		}
		if mark == "//" && strings.HasPrefix(text, "/*") {
			h.block = true
			n, kind = h.nextToken(text[2:] + " ")
			return min(n+2, len(text)), kind
		}
	}
	// Otherwise the first byte decides the kind.
	switch c := text[0]; {
	case c == '"' || c == '\'' || c == '`':
		return lenString(text), tokenString
	case c >= '0' && c <= '9':
		return lenWord(text), tokenNumber
	case isWord(c):
		n = lenWord(text)
		if reserved()[text[:n]] {
			return n, tokenWord
		}
		return n, tokenText
	default:
		return 1, tokenText
	}
}

// lenString returns the length of a quoted text; without an end on the line, only of the quote.
func lenString(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return 1
}

func lenWord(text string) int {
	n := 0
	for n < len(text) && (isWord(text[n]) || text[n] == '.' && text[0] <= '9') {
		n++
	}
	return n
}

// reserved are the words that common languages reserve.
var reserved = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields("" +
		"abstract and as async await bool boolean break byte case catch chan char class const " +
		"constexpr continue crate def default defer del delete do done double elif else elsif end enum esac except " +
		"export extends extern false fi final finally float fn for foreach from func function go goto if " +
		"impl implements import in instanceof int interface is lambda let local long loop map match mod " +
		"module mut namespace new nil none None not null of or override package pass private protected pub " +
		"public raise range readonly require return self Self select short static string struct super " +
		"switch template then this throw throws trait true True False try type typedef typeof uint " +
		"undefined union unless unsafe unsigned use using val var virtual void volatile when where while " +
		"with yield SELECT FROM WHERE INSERT INTO UPDATE DELETE CREATE TABLE JOIN ON AND OR NOT NULL ORDER " +
		"BY GROUP LIMIT VALUES SET") {
		out[w] = true
	}
	return out
})
