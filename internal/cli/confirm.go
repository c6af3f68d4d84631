package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/cairn-dev/cairn/internal/terminal"
)

// Confirmation is the question for a person, and the flags that answer it in advance.
type Confirmation struct {
	What  string   // to do
	Hint  string   // what to give on the command line instead
	Lines []string // of what it affects; shown before the question
}

// maxLines bounds the lines that a question shows.
const maxLines = 100

// Confirm asks the person at the terminal whether to do something. Without a terminal, and with --json, it returns an
// error: such callers use --yes.
func (a *Invocation) Confirm(ctx context.Context, q Confirmation) error {
	if a.JSON || a.Terminal == nil {
		return errUnconfirmed(q)
	}
	tty, err := a.Terminal()
	if err != nil {
		return errUnconfirmed(q)
	}
	screen := terminal.NewTerminalStream(tty, a.Err.Color)
	for _, line := range q.Lines[:min(len(q.Lines), maxLines)] {
		screen.WriteText(line + "\n")
	}
	if n := len(q.Lines) - maxLines; n > 0 {
		screen.Printf("… and %d more\n", n)
	}
	screen.Printf("%s %s? y/N > ", screen.PaintText(terminal.Yellow, a.Marks.Ask), terminal.FirstLine(q.What, 200))
	text, err := terminal.ReadTyped(ctx, func() (string, error) {
		defer tty.Close()
		return bufio.NewReader(io.LimitReader(tty, 1<<10)).ReadString('\n')
	})
	switch strings.ToLower(strings.TrimSpace(text)) {
	case "y", "yes":
		return err
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errors.New("nothing was done")
	}
	return err
}

func errUnconfirmed(q Confirmation) error {
	return NewExitError(ExitUsage, errors.New("to "+q.What+" needs confirmation, but no terminal is available"), q.Hint)
}
