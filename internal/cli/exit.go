package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/session"
)

// ExitCode is the exit code of the process. The numbers are a promise to scripts.
type ExitCode int

const (
	ExitOK          ExitCode = 0
	ExitFailure     ExitCode = 1
	ExitUsage       ExitCode = 2
	ExitDenied      ExitCode = 3
	ExitTimeout     ExitCode = 4
	ExitBudget      ExitCode = 5
	ExitProvider    ExitCode = 6
	ExitInterrupted ExitCode = 130
)

// exitTable lists all exit codes, as `cairn help exit-codes` prints them.
var exitTable = []struct {
	code ExitCode
	name string
	text string
}{
	{ExitOK, "ok", "success"},
	{ExitFailure, "error", "any failure without a code of its own"},
	{
		ExitUsage,
		"usage",
		"the command is wrong: unknown flag, model, agent or session, bad value, broken configuration",
	},
	{ExitDenied, "denied", "the work ended, but a permission was denied: by a rule, by --ask, or by an answer"},
	{ExitTimeout, "timeout", "--timeout passed; the session was interrupted and can be continued"},
	{ExitBudget, "budget", "a budget is used up; the session can be continued with a higher one"},
	{ExitProvider, "provider", "the model's provider failed: key, quota, overload, or a request that it refuses"},
	{ExitInterrupted, "interrupted", "Ctrl-C, or the session was interrupted elsewhere; it can be continued"},
}

// String returns the code's name.
func (c ExitCode) String() string {
	for _, e := range exitTable {
		if e.code == c {
			return e.name
		}
	}
	return fmt.Sprint(int(c))
}

func ExitCodesHelp() string {
	var b strings.Builder
	b.WriteString("The exit codes of cairn:\n\n")
	for _, e := range exitTable {
		fmt.Fprintf(&b, "  %3d  %-11s  %s\n", e.code, e.name, e.text)
	}
	b.WriteString("\nAn earlier cause wins: a run that was interrupted after a denial exits with 130.\n" +
		"With --format json the last line has the code as exit_code.\n")
	return b.String()
}

// ExitError is an error with an exit code. A nil Err means that the error was reported already.
type ExitError struct {
	Code ExitCode
	Err  error
	Hint string // the next step, printed on a line of its own
}

func (e *ExitError) Error() string {
	if e.Err == nil {
		return e.Code.String()
	}
	return e.Err.Error()
}

func (e *ExitError) Unwrap() error { return e.Err }

// NewExitError returns an error that ends the process with the code. The hint may be empty.
func NewExitError(code ExitCode, err error, hint string) error { return &ExitError{code, err, hint} }

// UsageErrorf returns an error about the command line, which exits with ExitUsage.
func UsageErrorf(format string, args ...any) error {
	return &ExitError{Code: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// AddNotFoundHint adds a hint, such as the command that lists what exists, to an error of session.CodeNotFound. It
// returns other errors unchanged.
func AddNotFoundHint(err error, hint string) error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == session.CodeNotFound {
		return NewExitError(CodeOf(err), err, hint)
	}
	return err
}

// CodeOf returns the exit code for the error of a command.
func CodeOf(err error) ExitCode {
	if err == nil {
		return ExitOK
	}
	// From specific to general: a code that the command chose, a signal, an error of the session, a timeout.
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Code
	}
	if errors.Is(err, ErrSignal) {
		return ExitInterrupted
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		switch e.Field {
		case auth.FieldKeyring:
			return ExitProvider
		case auth.FieldFile:
			return ExitFailure // the command line is not at fault
		}
		if e.Reason != "" {
			return ExitFailure // the server refuses the caller; no permission was denied
		}
		switch e.Code {
		case session.CodeInvalid, session.CodeNotFound, session.CodeTooLarge:
			return ExitUsage
		case session.CodeDenied:
			return ExitDenied
		default:
			return ExitFailure
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return ExitTimeout
	}
	return ExitFailure
}

// CodeOfReason returns the exit code for the reason why a session's work ended.
func CodeOfReason(r session.Reason) ExitCode {
	switch r {
	case session.ReasonAborted:
		return ExitInterrupted
	case session.ReasonBudget:
		return ExitBudget
	case session.ReasonDenied, session.ReasonDoomLoop:
		return ExitDenied
	case session.ReasonAuth,
		session.ReasonQuota,
		session.ReasonAPI,
		session.ReasonOverflow,
		session.ReasonContentFilter,
		session.ReasonLength:
		return ExitProvider
	case session.ReasonModel, session.ReasonUnavailable, session.ReasonContext:
		return ExitUsage
	default:
		return ExitFailure
	}
}

func HintOf(err error) string {
	if e, ok := errors.AsType[*ExitError](err); ok {
		return e.Hint
	}
	return ""
}
