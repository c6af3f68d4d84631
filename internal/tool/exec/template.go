package exec

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// TemplateCommands are commands whose output becomes part of a prompt.
type TemplateCommands struct {
	Lines     []string
	Args      []string // the positional parameters of each, from ${1} on
	Arguments string   // value of the variable ARGUMENTS
	Confine   tool.Confinement
}

const maxTemplateCommands = 32 // in one prompt

// RunTemplate runs the commands in the Location, in parallel, with the sandbox and the environment of tool commands,
// and returns the standard output of each. The exit code does not matter; a command that cannot be started or exceeds
// its timeout is an error.
func RunTemplate(ctx context.Context, c Config, l TemplateCommands) ([]string, error) {
	if len(l.Lines) > maxTemplateCommands {
		return nil, tool.Failf("The template runs %d commands, the limit is %d.", len(l.Lines), maxTemplateCommands)
	}
	s := newExecTools(c)
	printed, failed := make([]string, len(l.Lines)), make([]error, len(l.Lines))
	var all sync.WaitGroup
	for i, line := range l.Lines {
		all.Go(func() { printed[i], failed[i] = s.runLine(ctx, line, l) })
	}
	all.Wait()
	return printed, errors.Join(failed...)
}

// runLine runs one command of a template in the session's directory and returns its output. It applies the sandbox and
// the limits of the bash tool. An exit code other than 0 is no error; a timeout or an interruption is.
func (s *execTools) runLine(ctx context.Context, line string, l TemplateCommands) (string, error) {
	// Choose the shell, the directory and the sandbox as for a call of the bash tool.
	shell, err := s.config.ShellPath()
	if err != nil {
		return "", err
	}
	dir, err := s.config.Paths.Resolve("")
	if err != nil {
		return "", err
	}
	confined, err := s.chooseSandbox(l.Confine, tool.CellRequest{})
	if err != nil {
		return "", err
	}
	// The arguments are positional parameters and a variable, never part of the text that the shell parses.
	t := &bashTool{s}
	r := command{
		Spec: process.Spec{
			Argv:   append([]string{shell, "-c", line, "command"}, l.Args...),
			Policy: confined.findPolicy(), Rulesets: &s.rulesets, Guard: s.newGuard(confined),
			Supervisor: s.config.Supervisor, Dir: dir.Real, Grace: t.killDelay(),
			Env:       append(s.readEnvironment(confined), "ARGUMENTS="+l.Arguments),
			Processes: cmp.Or(s.config.Processes, process.MaxProcesses),
		},
		log: s.config.Log, drain: s.config.DrainTime, timeout: t.timeout(), quiet: true,
		output: &commandOutput{capture: tool.NewCapture(nil, s.config.Limits, s.config.Log)},
	}
	// Run the command; nothing shows its progress.
	r.Isolated = r.UsesNamespace()
	done, err := r.execute(ctx, func(string) {})
	// An interrupted or late command is an error: a prompt must not contain half of its output.
	switch {
	case err != nil:
		return "", err
	case done.interrupted:
		return "", context.Cause(ctx)
	case done.timedOut:
		return "", tool.Failf("%.100q took longer than %s.", line, r.timeout)
	}
	return done.out.Text, nil
}
