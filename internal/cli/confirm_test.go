package cli

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// typedTerminal is a terminal at which a person types a line.
type typedTerminal struct {
	io.Reader
	shown bytes.Buffer
}

func (t *typedTerminal) Write(p []byte) (int, error) { return t.shown.Write(p) }

func (t *typedTerminal) Close() error { return nil }

// A question shows what it affects, and does not fill the screen with it.
func TestConfirmShowsLines(t *testing.T) {
	for n, want := range map[int]string{1: "a line\n", maxLines + 2: "… and 2 more\n"} {
		tty := &typedTerminal{Reader: strings.NewReader("y\n")}
		a := &Invocation{Err: terminal.NewStream(io.Discard, func(string) string { return "" })}
		a.Terminal = func() (io.ReadWriteCloser, error) { return tty, nil }
		q := Confirmation{What: "delete them", Lines: strings.Fields(strings.Repeat("x ", n))}
		if n == 1 {
			q.Lines = []string{"a line"}
		}
		err := a.Confirm(t.Context(), q)
		before, _, found := strings.Cut(tty.shown.String(), " delete them? y/N > ")
		if err != nil || !found || !strings.Contains(before, want) || strings.Count(before, "\n") > maxLines+1 {
			t.Errorf("%d lines: %v, shown %q", n, err, tty.shown.String())
		}
	}
}
