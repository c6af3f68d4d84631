package exec

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// confinedCommand is a command line and the sandbox that it runs in.
type confinedCommand struct {
	argv []string
	mode session.SandboxMode // "" if the configuration has no sandboxes
	cell Cell
}

// confineCall returns the command line of a call in the sandbox of its session.
func (s *execTools) confineCall(ctx context.Context, call tool.Call, argv []string) (confinedCommand, error) {
	var as tool.Confinement
	if call.Confine != nil {
		var err error
		if as, err = call.Confine(ctx); err != nil {
			return confinedCommand{}, err
		}
	}
	return s.confineCommand(as, call.SessionID, argv)
}

// confineCommand returns the command line that runs argv confined. If the sandbox is not available, it fails, unless
// the confinement is only wanted if it is possible.
func (s *execTools) confineCommand(as tool.Confinement, id session.ID, argv []string) (confinedCommand, error) {
	free := confinedCommand{argv: argv, mode: as.Mode}
	if !as.Mode.IsConfined() {
		return free, nil
	}
	cell, err := s.openCell(as.Mode, id)
	if err != nil && as.IfPossible {
		s.warn.Do(func() { s.config.Log.Warn("commands that run without an ask are not confined", "reason", err) })
		free.mode = session.SandboxOff
		return free, nil
	}
	if err != nil {
		return free, tool.Failf("Commands must run in the sandbox, but %v. No command was run. Tell the user.", err)
	}
	wrapped, err := cell.Policy.WrapCommand(s.config.Supervisor[0], argv)
	return confinedCommand{argv: wrapped, mode: as.Mode, cell: cell}, err
}

// ConfinePrefix returns the words before a command line, and the environment, with which it runs in a mode. The
// command belongs to no session.
func (c Config) ConfinePrefix(mode session.SandboxMode, env []string) (prefix, confined []string, err error) {
	if !mode.IsConfined() {
		return nil, env, nil
	}
	cell, err := newExecTools(c).openCell(mode, "")
	if err != nil {
		return nil, nil, err
	}
	prefix, err = cell.Policy.WrapCommand(c.Supervisor[0], nil)
	return prefix, slices.Concat(env, cell.Env), err
}

// openCell returns what commands of a session may do in a mode, or why there is no such sandbox here.
func (s *execTools) openCell(mode session.SandboxMode, id session.ID) (Cell, error) {
	if s.config.Sandbox == nil {
		return Cell{}, errors.New("this program has none")
	}
	if err := sandbox.Check(); err != nil {
		return Cell{}, errors.New("this system cannot provide it: " + err.Error())
	}
	if len(s.config.Supervisor) == 0 {
		return Cell{}, errors.New("this program cannot start itself to set it up")
	}
	cell, err := s.config.Sandbox(mode, id)
	if err != nil {
		return Cell{}, err
	}
	if hidden := cell.Policy.FindExposed(); hidden != "" {
		return Cell{}, errors.New(
			"it cannot hide " + hidden + ", which lies below a directory that commands may write to",
		)
	}
	return cell, nil
}

// describeSandbox tells the model what a sandbox forbids.
func (s *execTools) describeSandbox() string {
	if s.config.Sandbox == nil {
		return ""
	}
	return "\n- Commands that need no approval run in a sandbox: they write only below the project's directory " +
		"and $TMPDIR, and cannot read some secrets. A result says so if this may be why a command failed."
}

// refusals are the words of programs for what a sandbox forbids.
var refusals = []string{
	"Read-only file system", "read-only file system", "ermission denied", "EACCES", "EROFS", "peration not permitted",
	"unction not implemented",
}

// explainRefusal returns a note if the sandbox may be why a command failed; "" if not.
func (c confinedCommand) explainRefusal(exit int, output string) string {
	isRefusal := func(words string) bool { return strings.Contains(output, words) }
	if len(c.cell.Policy.Write) == 0 || exit == 0 || !slices.ContainsFunc(refusals, isRefusal) {
		return ""
	}
	note := "It ran in the sandbox (" + string(c.mode) + "): it writes only below " +
		strings.Join(c.cell.Policy.Write, ", ")
	if !c.cell.Policy.Network {
		note += ", and has no network"
	}
	return note + ". The user's setting sandbox changes this."
}
