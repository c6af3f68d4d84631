package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// stream is an output of the process: it knows whether people look at it and remembers its first error, so that
// writers need not look at every one.
type stream struct {
	w        io.Writer
	terminal bool
	color    bool
	midline  bool // the last byte was no newline
	err      error
}

func newStream(w io.Writer, env func(string) string) *stream {
	terminal := isTerminal(w)
	return &stream{w: w, terminal: terminal, color: terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// isTerminal reports whether people are at the other end.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write writes p as it is.
func (s *stream) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	if n > 0 {
		s.midline = p[n-1] != '\n'
	}
	s.err = err
	return n, err
}

// say writes text that others wrote. On a terminal it holds no control sequences.
func (s *stream) say(text string) {
	if s.terminal {
		text = harmless(text)
	}
	_, _ = io.WriteString(s, text) // kept in err
}

// printf writes our own words; arguments that others wrote go through line first.
func (s *stream) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s, format, args...) // kept in err
}

// freshLine ends a line that is begun.
func (s *stream) freshLine() {
	if s.midline {
		_, _ = io.WriteString(s, "\n")
	}
}

// The styles, as SGR parameters.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

// paint puts text into a style where there is colour.
func (s *stream) paint(style, text string) string {
	if !s.color || text == "" || style == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// harmless is text without what a terminal would obey, or what makes it read other than it is: control characters but
// newline and tab, and the marks that turn the direction of text.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar || !unicode.IsControl(r) && !turnsText(r):
			return r
		case r == '\r':
			return -1
		default:
			return unicode.ReplacementChar
		}
	}, text)
}

func turnsText(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

// line is text as one harmless line of at most n characters.
func line(text string, n int) string {
	text = strings.TrimSpace(text)
	more := false
	if head, _, cut := strings.Cut(text, "\n"); cut {
		text, more = strings.TrimRight(head, " \r"), true
	}
	text = strings.ReplaceAll(harmless(text), "\t", " ")
	if r := []rune(text); len(r) > n {
		text, more = string(r[:n-1]), true
	}
	if more {
		text += "…"
	}
	return text
}

// marks are the signs that lines begin with.
type marks struct{ call, good, bad, ask, dot string }

// marksFor returns ASCII where the environment does not promise UTF-8.
func marksFor(env func(string) string) marks {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			if v = strings.ToLower(v); strings.Contains(v, "utf-8") || strings.Contains(v, "utf8") {
				return marks{"→", "✓", "✗", "?", "·"}
			}
			break
		}
	}
	return marks{"->", "ok", "x", "?", "-"}
}

var errNoTerminal = errors.New("there is no terminal to ask on")

// controllingTerminal opens the terminal of this process, unless the process is in its background, where reading would
// stop it.
func controllingTerminal() (io.ReadWriteCloser, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, errNoTerminal
	}
	if !term.IsTerminal(int(f.Fd())) || !foreground(f) {
		_ = f.Close() // nothing was written
		return nil, errNoTerminal
	}
	return f, nil
}
