package host

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// Terminal implements v1.Catalog. A terminal belongs to the user: it runs the configured shell (a project's only if the
// project is trusted), else $SHELL. It is confined if the configuration or this process confines all commands. Its
// environment is that of commands, without keys.
func (c v1Catalog) Terminal(context.Context) (pty.Order, error) {
	env := exec.Config{Deny: c.setup.tools.exec.Deny}
	o := pty.Order{
		Directory: c.directory, Project: c.setup.project.ID,
		Command: cmp.Or(c.setup.tools.exec.Shell, c.getenv("SHELL")), Env: env.Environment(),
	}
	if o.Command == "" {
		var err error
		if o.Command, err = env.ShellPath(); err != nil {
			return pty.Order{}, session.Errorf(session.CodeInvalid,
				"no shell found on this machine; name one as the command, or set shell in the configuration").At("command")
		}
	}
	as := c.unaskedConfinement(c.setup.config, false)
	if as.IfPossible {
		return o, nil // nothing is configured, and the user types the commands
	}
	var err error
	o.Prefix, o.Env, err = c.setup.tools.exec.ConfinePrefix(as.Mode, o.Env)
	if err != nil {
		err = session.Errorf(session.CodeInvalid, "no terminal: %v", err).At("sandbox")
	}
	return o, err
}
