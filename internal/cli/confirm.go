package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// question is what a person is asked, and what to say beforehand instead.
type question struct{ what, hint string }

// confirm asks the person at the terminal whether to do something. Programs, and whoever has no terminal, must have
// said --yes.
func (a *app) confirm(ctx context.Context, asJSON bool, q question) error {
	if asJSON || a.Terminal == nil {
		return unconfirmed(q)
	}
	tty, err := a.Terminal()
	if err != nil {
		return unconfirmed(q)
	}
	screen := &stream{w: tty, terminal: true, color: a.err.color}
	screen.printf("%s %s? y/N > ", screen.paint(yellow, a.marks.ask), line(q.what, 200))
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

func unconfirmed(q question) error {
	return &exit{exitUsage, errors.New("to " + q.what + " needs a yes, and there is no terminal to ask on"), q.hint}
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
