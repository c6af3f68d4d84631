package cli

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// explain tells an error, once, and returns the exit code.
func (a *app) explain(cmd *cobra.Command, err error) exitCode {
	if err == nil {
		return exitOK
	}
	code := codeOf(err)
	if !a.ran { // cobra's own: the command line was not understood
		code = exitUsage
		path := "cairn"
		if cmd != nil {
			path = cmd.CommandPath()
		}
		err = &exit{exitUsage, err, "See " + path + " --help."}
		if cmd != nil && cmd.Name() == "run" && wantsJSON(a.Args) {
			newLineView(a, false).result(result{
				IsError: true, Denials: []denial{}, ExitCode: code, Time: time.Now().UnixMilli(),
				Error: &resultError{Name: code.String(), Message: err.Error()},
			})
		}
	}
	if e, ok := errors.AsType[*exit](err); ok && e.err == nil {
		return code // everything is said
	}
	if errors.Is(err, errSignal) || errors.Is(err, syscall.EPIPE) { // those who did it know
		return code
	}
	a.err.freshLine()
	a.err.printf("%s %s\n", a.err.paint(red, "cairn:"), strings.TrimRight(harmless(err.Error()), "\n"))
	if hint := hintOf(err); hint != "" {
		a.err.printf("%s\n", hint)
	}
	return code
}

// wantsJSON reports whether a command line that cannot be understood asks for --format json.
func wantsJSON(args []string) bool {
	for i, arg := range args {
		if arg == "--format=json" || arg == "--format" && i+1 < len(args) && args[i+1] == "json" {
			return true
		}
	}
	return false
}

func hintOf(err error) string {
	if e, ok := errors.AsType[*exit](err); ok {
		return e.hint
	}
	return ""
}

// withNearestSessions adds to an unknown session's error the ids that may have been meant.
func withNearestSessions(ctx context.Context, c *api.Client, err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeNotFound || e.Kind != "session" || len(e.Nearest) > 0 {
		return err
	}
	page, lerr := c.Sessions(ctx, api.SessionQuery{Limit: 50, Archived: true})
	if lerr != nil {
		return err
	}
	ids := make([]string, len(page.Data))
	for i, s := range page.Data {
		ids[i] = string(s.ID)
	}
	better := *e
	better.Nearest = nearest(e.ID, ids)
	hint := "cairn session list shows what there is"
	return &exit{exitUsage, &better, hint}
}
