package host

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// newTerminal returns the shell of a terminal in a directory. A terminal belongs to the user: it runs the configured
// shell (a project's only if the project is trusted), else $SHELL. It is confined if the configuration or this process
// confines all commands. Its environment is that of commands, without keys.
func (l *locationCache) newTerminal(p *locationSetup, directory string) (pty.Order, error) {
	env := exec.Config{Deny: p.tools.exec.Deny}
	o := pty.Order{
		Directory: directory, Project: p.project.ID,
		Command: cmp.Or(p.tools.exec.Shell, l.getenv("SHELL")), Env: env.Environment(),
	}
	if o.Command == "" {
		var err error
		if o.Command, err = env.ShellPath(); err != nil {
			return pty.Order{}, session.Errorf(session.CodeInvalid,
				"no shell found on this machine; name one as the command, or set shell in the configuration").At("command")
		}
	}
	as := l.unaskedConfinement(p.config, false)
	if as.IfPossible {
		return o, nil // nothing is configured, and the user types the commands
	}
	var err error
	o.Prefix, o.Env, err = p.tools.exec.ConfinePrefix(as.Mode, o.Env)
	if err != nil {
		err = session.Errorf(session.CodeInvalid, "no terminal: %v", err).At("sandbox")
	}
	return o, err
}

// terminalOverlay returns the variables that the extensions set for a terminal in the directory.
func (p *locationSetup) terminalOverlay(ctx context.Context, directory string) (map[string]string, error) {
	v := extension.Environment{Directory: directory}
	if _, err := p.scope.Chain.Begin().Environment(ctx, &v); err != nil {
		return nil, session.Errorf(session.CodeUnavailable, "no terminal: %v", err)
	}
	return v.Variables, nil
}
