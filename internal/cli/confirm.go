package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// confirm asks the person at the terminal whether to do something. Programs, and whoever has no terminal, must have
// said --yes.
func (a *app) confirm(ctx context.Context, asJSON bool, what string) error {
	if asJSON || a.Terminal == nil {
		return unconfirmed(what)
	}
	tty, err := a.Terminal()
	if err != nil {
		return unconfirmed(what)
	}
	screen := &stream{w: tty, terminal: true, color: a.err.color}
	screen.printf("%s %s? y/N > ", screen.paint(yellow, a.marks.ask), line(what, 200))
	text, err := readTyped(ctx, func() (string, error) {
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

func unconfirmed(what string) error {
	return &exit{exitUsage, errors.New("to " + what + " needs a yes, and there is no terminal to ask on"), "Say --yes, or name the session by its whole id."}
}

// readTyped is what read reads from a terminal, unless ctx ends first: the read is then given up, and ends with the
// process.
func readTyped(ctx context.Context, read func() (string, error)) (string, error) {
	type answered struct {
		text string
		err  error
	}
	done := make(chan answered, 1)
	go func() { // see above
		text, err := read()
		done <- answered{text, err}
	}()
	select {
	case t := <-done:
		return t.text, t.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
