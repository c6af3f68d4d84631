package terminal

import (
	"bufio"
	"context"
	"io"
	"strings"

	"golang.org/x/term"
)

// maxHiddenLine bounds a line that is read without echo.
const maxHiddenLine = 64 << 10

// ReadHidden reads a line without echo, which is off before the prompt shows. When ctx ends first the terminal is put
// back as it was.
func ReadHidden(ctx context.Context, tty io.ReadWriter, prompt string) (string, error) {
	f, ok := tty.(interface{ Fd() uintptr })
	if !ok {
		_, _ = io.WriteString(tty, prompt) // reading will fail too
		text, err := bufio.NewReader(io.LimitReader(tty, maxHiddenLine)).ReadString('\n')
		return strings.TrimSpace(text), err
	}
	fd := int(f.Fd())
	restore, err := disableEcho(fd)
	if err != nil {
		return "", err
	}
	defer restore()
	_, _ = io.WriteString(tty, prompt) // reading will fail too
	return ReadTyped(ctx, func() (string, error) {
		text, err := term.ReadPassword(fd)
		return string(text), err
	})
}

// ReadTyped returns the result of read, which reads from a terminal, unless ctx ends first: the read is then given up,
// and ends with the process.
func ReadTyped(ctx context.Context, read func() (string, error)) (string, error) {
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
