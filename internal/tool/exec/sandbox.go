package exec

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/protected"
)

// confinement is the sandbox of a command.
type confinement struct {
	mode          session.SandboxMode // "" if the configuration has no sandboxes
	cell          tool.Cell
	allowsEdit    func(resource string) bool // see tool.Confinement
	notice        string                     // why the command is not confined; the first command of a Location has it
	liftsSettings bool                       // it may change the settings of the repository
}

// findConfinement returns how a command of the call is confined, by the approvals so far.
func findConfinement(ctx context.Context, call tool.Call) (as tool.Confinement, err error) {
	if call.Confine != nil {
		as, err = call.Confine(ctx)
	}
	return as, err
}

// chooseSandbox returns the sandbox for a command; it sets r.Mode to as.Mode. If that sandbox is not available, it
// returns none if as.IfPossible is set, else an error.
func (s *execTools) chooseSandbox(as tool.Confinement, r tool.CellRequest) (confinement, error) {
	c := confinement{mode: as.Mode, allowsEdit: as.AllowsEdit}
	if !as.Mode.IsConfined() {
		return c, nil
	}
	r.Mode = as.Mode
	cell, err := s.openCell(r)
	if err != nil && as.IfPossible {
		s.warn.Do(func() {
			c.notice = "No sandbox confines the commands here that run without an ask: " + err.Error() + "."
			s.config.Log.Warn("commands that run without an ask are not confined", "reason", err)
		})
		c.mode = session.SandboxOff
		return c, nil
	}
	if err != nil {
		return c, failSandbox(err)
	}
	c.cell = cell
	if as.ReadOnly {
		if err := sandbox.CheckNamespace(); err != nil {
			return c, tool.Failf("Commands may change nothing here, which the sandbox must see to, but %v. "+
				"No command was run. Tell the user.", err)
		}
		c.cell.Policy.Freeze = true
		// The protected paths cannot be written then, so what appears there meanwhile is not the command's.
		c.cell.Policy.Write, c.cell.Policy.ReadOnly, c.cell.Policy.Nested = cell.Own, nil, nil
		c.cell.Held = "" // no guard
	}
	return c, nil
}

func failSandbox(err error) error {
	return tool.Failf("Commands must run in the sandbox, but %v. No command was run. Tell the user.", err)
}

// requireSandbox fails if the command must be confined and cannot be, before anything is asked.
func (s *execTools) requireSandbox(as tool.Confinement) error {
	if err := s.checkSandbox(as.Mode); err != nil && as.Mode.IsConfined() && !as.IfPossible {
		return failSandbox(err)
	}
	return nil
}

// newGuard returns the guard of the command's protected paths.
func (s *execTools) newGuard(c confinement) *protected.FileGuard {
	p := c.cell.Policy
	return protected.New(protected.Config{
		Held: c.cell.Held, Writable: p.Write, Paths: p.ReadOnly, Nested: p.Nested,
		Repositories: c.cell.Repositories, Folders: c.cell.Folders, NewSubmodules: c.liftsSettings,
	})
}

// findPolicy returns the policy of the command; nil if nothing confines it.
func (c *confinement) findPolicy() *sandbox.Policy {
	if !c.mode.IsConfined() {
		return nil
	}
	return &c.cell.Policy
}

// liftProtected removes from the policy the protected paths that a rule or an answered request allows to change. The
// others stay read-only.
func (s *execTools) liftProtected(c *confinement, answered []tool.Request) {
	p := &c.cell.Policy
	before := p.ReadOnly
	p.ReadOnly, p.Nested = s.listProtected(*c, p.ReadOnly, answered), s.listProtected(*c, p.Nested, answered)
	c.liftsSettings = slices.ContainsFunc(c.cell.Repositories, func(git string) bool {
		config := filepath.Join(git, "config")
		return slices.Contains(before, config) && !slices.Contains(p.ReadOnly, config)
	})
}

// listProtected returns those of the paths that stay read-only for a command: no rule and no answered request allows to
// change them.
func (s *execTools) listProtected(c confinement, paths []string, answered []tool.Request) (kept []string) {
	var approved []string
	for _, r := range answered {
		for _, name := range r.Resources {
			if r.Action == permission.Edit && permission.ProtectedName(name) != "" { // others did not ask
				approved = append(approved, name)
			}
		}
	}
	place := s.newPlace()
	for _, path := range paths {
		info, err := os.Lstat(path)
		isLink := err == nil && info.Mode()&fs.ModeSymlink != 0
		isFile := err == nil && info.Mode().IsRegular()
		isLifted := func(name string) bool {
			return isApproved(name, approved) || permission.ProtectedName(name) != "" && c.isEditAllowed(name, isFile)
		}
		// resolving links is the slowest step, and few paths are lifted
		if !isLink && !isLifted(place.NameLexically(path)) ||
			!isLifted(place.NameResource(path)) {
			kept = append(kept, path)
		}
	}
	return kept
}

// isApproved reports whether one of the approved resources is the named one, lies below it or contains it.
func isApproved(name string, approved []string) bool {
	return slices.ContainsFunc(approved, func(a string) bool {
		return permission.Match(a, name) || strings.HasPrefix(a, name+"/") || strings.HasPrefix(name, a+"/")
	})
}

// isEditAllowed reports whether the rules allow changing the file of this name. For a directory or a missing path they
// must allow every file below it as well.
func (c confinement) isEditAllowed(name string, isFile bool) bool {
	if !isFile {
		name += "/"
	}
	return c.allowsEdit != nil && c.allowsEdit(name)
}

// ConfinePrefix returns the words before a command line, and the environment, with which it runs in a mode. The
// command belongs to no session.
func (c Config) ConfinePrefix(mode session.SandboxMode, env []string) (prefix, confined []string, err error) {
	if !mode.IsConfined() {
		return nil, env, nil
	}
	cell, err := newExecTools(c).openCell(tool.CellRequest{Mode: mode})
	if err != nil {
		return nil, nil, err
	}
	prefix, err = cell.Policy.WrapCommand(c.Supervisor[0], nil)
	return prefix, slices.Concat(env, cell.Env), err
}

// openCell returns what a command may do in a sandbox, or why there is no such sandbox here.
func (s *execTools) openCell(r tool.CellRequest) (tool.Cell, error) {
	if err := s.checkSandbox(r.Mode); err != nil {
		return tool.Cell{}, err
	}
	cell, err := s.config.Sandbox(r)
	if err != nil {
		return tool.Cell{}, err
	}
	if hidden := cell.Policy.FindExposed(); hidden != "" {
		return tool.Cell{}, errors.New("it cannot hide " + hidden + ", which lies below a directory that commands may write to")
	}
	return cell, nil
}

// checkSandbox returns why commands of this Location cannot be confined in the mode, nil if they can.
func (s *execTools) checkSandbox(mode session.SandboxMode) error {
	if s.config.Sandbox == nil {
		return errors.New("this program has none")
	}
	if err := sandbox.Check(); err != nil {
		return errors.New("this system cannot provide it: " + err.Error())
	}
	if mode == session.SandboxStrict {
		if err := sandbox.CheckNamespace(); err != nil {
			return errors.New("this system cannot provide the mode strict: " + err.Error())
		}
	}
	if len(s.config.Supervisor) == 0 {
		return errors.New("this program cannot start itself to set it up")
	}
	return nil
}

// describeSandbox tells the model what a sandbox forbids.
func (s *execTools) describeSandbox() string {
	if s.config.Sandbox == nil {
		return ""
	}
	return "\n- Commands that no person approves when they run are in a sandbox: they write only below the project's " +
		"directory and $TMPDIR (use that instead of /tmp) and to paths outside that a plain line names and the user " +
		"permits, and cannot read some secrets. A result says so if this may be why a command failed.\n" +
		"- A plain line is asked about least: simple commands with literal words, joined by && || ; | and newlines, " +
		"without $, backquotes, assignments, ~, {}, &, here-documents and a * at the beginning of a word."
}

// refusals are parts of error messages that programs print when a sandbox refuses something.
var refusals = []string{
	"Read-only file system", "read-only file system", "resource busy",
	"ermission denied", "EACCES", "EROFS", "peration not permitted",
	"unction not implemented",
}

// explainRefusal returns a note for the model if the command may have failed because of the sandbox, else "".
func (c confinement) explainRefusal(exit int, output string) string {
	isRefusal := func(words string) bool { return strings.Contains(output, words) }
	lost := isRefusal("could not write config file") // git goes on without it
	if len(c.cell.Policy.Write) == 0 || exit == 0 && !lost || !slices.ContainsFunc(refusals, isRefusal) {
		return ""
	}
	note := "It ran in the sandbox (" + string(c.mode) + "): it writes only below " +
		strings.Join(c.cell.Policy.Write, ", ")
	if strings.Contains(output, "ead-only file system") || strings.Contains(output, "resource busy") {
		note += ", and protected files (git's settings and hooks, settings of editors, agents and CI) only if the user " +
			"permits it: call git remote, config, push -u and the like as plain lines, or use the edit tool"
	}
	if !c.cell.Policy.Network {
		note += ", and has no network"
	}
	return note + ". The user's settings sandbox and sandbox.outside change this."
}
