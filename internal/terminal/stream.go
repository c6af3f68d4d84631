package terminal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"
)

// Stream is an output of the process. It knows whether a person looks at it, and keeps its first error, so that
// callers need not check each write.
type Stream struct {
	w        io.Writer
	Terminal bool
	Color    bool
	Midline  bool // the last byte was no newline
	Err      error
	before   func() // called before each write; nil without a LiveArea
}

func NewStream(w io.Writer, env func(string) string) *Stream {
	terminal := IsTerminal(w)
	return &Stream{w: w, Terminal: terminal, Color: terminal && env("NO_COLOR") == "" && env("TERM") != "dumb"}
}

// NewTerminalStream returns the output of a terminal that was opened for questions.
func NewTerminalStream(tty io.Writer, color bool) *Stream {
	return &Stream{w: tty, Terminal: true, Color: color}
}

// IsTerminal reports whether people are at the other end.
func IsTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Write writes p as it is.
func (s *Stream) Write(p []byte) (int, error) {
	if s.Err != nil {
		return 0, s.Err
	}
	if s.before != nil {
		s.before()
	}
	n, err := s.w.Write(p)
	if n > 0 {
		s.Midline = p[n-1] != '\n'
	}
	s.Err = err
	return n, err
}

// WriteText writes text of others. On a terminal its control characters are replaced.
func (s *Stream) WriteText(text string) {
	if s.Terminal {
		text = ReplaceControls(text)
	}
	_, _ = io.WriteString(s, text) // kept in err
}

// JSON returns the writer of JSON documents. On a terminal it escapes what ReplaceControls replaces, which has the same
// meaning because such characters stand in strings only; other outputs get the bytes as they are. A document ends with
// a line break.
func (s *Stream) JSON() io.Writer {
	if !s.Terminal {
		return s
	}
	return &jsonEscaper{to: s}
}

// jsonEscaper escapes control characters of JSON.
type jsonEscaper struct {
	to   *Stream
	rest []byte // the beginning of a character that the last write cut
}

// Write escapes p. It writes everything but a cut character at its end.
func (e *jsonEscaper) Write(p []byte) (int, error) {
	text, out := append(e.rest, p...), make([]byte, 0, len(p)+len(p)/8)
	for len(text) > 0 && utf8.FullRune(text) {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case r == '\n' || r == '\t' || !unicode.IsControl(r) && !isDirectionMark(r):
			out = utf8.AppendRune(out, r)
		case r == '\r': // between values
			out = append(out, ' ')
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	e.rest = bytes.Clone(text)
	if _, err := e.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Printf writes text of the program; arguments from others must pass through FirstLine.
func (s *Stream) Printf(format string, args ...any) {
	_, _ = fmt.Fprintf(s, format, args...) // kept in err
}

// EndLine ends an unfinished line.
func (s *Stream) EndLine() {
	if s.Midline {
		_, _ = io.WriteString(s, "\n")
	}
}

// The styles, as SGR parameters.
const (
	Bold   = "1"
	Dim    = "2"
	Red    = "31"
	Green  = "32"
	Yellow = "33"
	Cyan   = "36"
)

// PaintText applies a style to text if the stream has colour.
func (s *Stream) PaintText(style, text string) string {
	if !s.Color || text == "" || style == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

// Marks are the signs at the beginning of lines.
type Marks struct{ Call, Good, Bad, Ask, Dot, Bar string }

// NewMarks returns the marks for the environment: ASCII unless it promises UTF-8.
func NewMarks(env func(string) string) Marks {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if v := env(name); v != "" {
			if v = strings.ToLower(v); strings.Contains(v, "utf-8") || strings.Contains(v, "utf8") {
				return Marks{"→", "✓", "✗", "?", "·", "█"}
			}
			break
		}
	}
	return Marks{"->", "ok", "x", "?", "-", "#"}
}

var ErrNoTerminal = errors.New("no terminal is available")

// OpenTerminal opens the terminal of this process, unless the process is in its background, where reading would stop
// it.
func OpenTerminal() (io.ReadWriteCloser, error) {
	f, err := os.OpenFile("/dev/tty", os.O_RDWR, 0)
	if err != nil {
		return nil, ErrNoTerminal
	}
	if !term.IsTerminal(int(f.Fd())) || !isForeground(f) {
		_ = f.Close() // nothing was written
		return nil, ErrNoTerminal
	}
	return f, nil
}
