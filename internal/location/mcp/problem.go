package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/location/webcache"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// LoginError reports that a server needs a login, or a registration of cairn by hand.
type LoginError struct {
	Status  Status // NeedsAuth or NeedsClientRegistration
	Message string // what to do
}

func (e *LoginError) Error() string { return e.Message }

// NeedLogin returns the error for a server that needs a login. detail says more, or is "".
func NeedLogin(server, detail string) *LoginError {
	return &LoginError{NeedsAuth, strings.TrimSpace("it needs a login: cairn mcp auth " + server + " " + detail)}
}

// classify returns the state of a server after an error.
func classify(err error) Status {
	if login, ok := errors.AsType[*LoginError](err); ok {
		return login.Status
	}
	return Failed
}

// maxProblem bounds the text of an error, in bytes.
const maxProblem = 600

// describeError returns an error as one line for people, without control characters and without the parts of addresses
// that may be secrets.
func describeError(err error) string {
	if err == nil {
		return "the connection ended"
	}
	return DescribeError(err)
}

// address is an address within a text.
var address = regexp.MustCompile(`https?://[^\s"'<>]*[^\s"'<>,.;:)]`)

// DescribeError is describeError for an error that is not nil.
func DescribeError(err error) string {
	text := strings.Join(strings.Fields(terminal.ReplaceControls(err.Error())), " ")
	text = strings.ReplaceAll(text, context.DeadlineExceeded.Error(), "it did not answer in time")
	return session.ClipText(address.ReplaceAllStringFunc(text, webcache.ShowAddress), maxProblem)
}

// cutText returns at most n bytes of a text of a server, without characters that change what a terminal shows.
func cutText(text string, n int) string { return session.ClipText(terminal.ReplaceControls(text), n) }

// exitTime is how long a program takes to end after its output has ended.
const exitTime = 200 * time.Millisecond

// explain adds to an error why the server's program was ended, or its exit code, and the end of its standard error.
func (s *server) explain(err error, child *process.Child) error {
	// An error that says enough, or that needs words.
	if _, ok := errors.AsType[*LoginError](err); ok {
		return err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("it did not answer within %v", s.timeout())
	}
	if child == nil {
		return err
	}
	// Of an error that says only that the connection is gone, the program knows more.
	if why := child.Failure(); why != nil && isConnectionEnd(err) {
		return why
	}
	select {
	case <-child.Done():
		if code, _ := child.ExitStatus(); isConnectionEnd(err) { // else it ended because the connection did
			err = fmt.Errorf("its program ended with exit code %d", code)
		}
	case <-time.After(exitTime):
	}
	if said := lastLines(child.ReadErrors(), 3); said != "" && err != nil {
		err = fmt.Errorf("%w; it said: %s", err, said)
	}
	return err
}

// isConnectionEnd reports whether an error says no more than that the other end of the connection is gone.
func isConnectionEnd(err error) bool {
	ends := []error{
		io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, os.ErrClosed, syscall.EPIPE, sdk.ErrConnectionClosed,
	}
	return err == nil || slices.ContainsFunc(ends, func(end error) bool { return errors.Is(err, end) })
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-n):], " "))
}
