package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/session"
)

// exitCode is how the process ends. The numbers are a promise to scripts.
type exitCode int

const (
	exitOK          exitCode = 0
	exitError       exitCode = 1
	exitUsage       exitCode = 2
	exitDenied      exitCode = 3
	exitTimeout     exitCode = 4
	exitBudget      exitCode = 5
	exitProvider    exitCode = 6
	exitInterrupted exitCode = 130
)

// exits is the one table of exit codes: what `cairn help exit-codes` prints.
var exits = []struct {
	code exitCode
	name string
	text string
}{
	{exitOK, "ok", "it worked"},
	{exitError, "error", "something failed that is none of the below"},
	{exitUsage, "usage", "the command is wrong: unknown flag, model, agent or session, bad value, broken configuration"},
	{exitDenied, "denied", "the work ended, but a permission was denied on the way: by a rule, by --ask, or by somebody"},
	{exitTimeout, "timeout", "--timeout passed; the session was interrupted and can be continued"},
	{exitBudget, "budget", "a budget is used up; the session can be continued with a higher one"},
	{exitProvider, "provider", "the model's provider failed: key, quota, overload, or a request that it refuses"},
	{exitInterrupted, "interrupted", "Ctrl-C, or somebody interrupted the session; it can be continued"},
}

// String returns the code's name.
func (c exitCode) String() string {
	for _, e := range exits {
		if e.code == c {
			return e.name
		}
	}
	return fmt.Sprint(int(c))
}

func exitCodesHelp() string {
	var b strings.Builder
	b.WriteString("The exit codes of cairn:\n\n")
	for _, e := range exits {
		fmt.Fprintf(&b, "  %3d  %-11s  %s\n", e.code, e.name, e.text)
	}
	b.WriteString("\nAn earlier cause wins: a run that was interrupted after a denial exits with 130.\n" +
		"With --format json the last line says the same in exit_code.\n")
	return b.String()
}

// exit is an error that knows the exit code. err nil means that everything was said already.
type exit struct {
	code exitCode
	err  error
	hint string // one more line: what to do
}

func (e *exit) Error() string {
	if e.err == nil {
		return e.code.String()
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

func usagef(format string, args ...any) error {
	return &exit{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// codeOf sorts any error of a command.
func codeOf(err error) exitCode {
	if err == nil {
		return exitOK
	}
	if e, ok := errors.AsType[*exit](err); ok {
		return e.code
	}
	if errors.Is(err, errSignal) {
		return exitInterrupted
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		switch e.Field {
		case auth.FieldKeyring:
			return exitProvider
		case auth.FieldFile:
			return exitError // whoever typed the command did nothing wrong
		}
		switch e.Code {
		case session.CodeInvalid, session.CodeNotFound, session.CodeTooLarge:
			return exitUsage
		case session.CodeDenied:
			return exitDenied
		default:
			return exitError
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return exitTimeout
	}
	return exitError
}

// codeOfReason sorts how a session's work ended.
func codeOfReason(r session.Reason) exitCode {
	switch r {
	case session.ReasonAborted:
		return exitInterrupted
	case session.ReasonBudget:
		return exitBudget
	case session.ReasonDenied:
		return exitDenied
	case session.ReasonAuth, session.ReasonQuota, session.ReasonAPI, session.ReasonOverflow, session.ReasonContentFilter,
		session.ReasonLength:
		return exitProvider
	case session.ReasonModel, session.ReasonUnavailable:
		return exitUsage
	default:
		return exitError
	}
}
