package host

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// Terminal implements v1.Places. A terminal belongs to the user: it runs the configured shell (a project's only if the
// project is trusted), else $SHELL, outside of any sandbox. Its environment is that of commands, without keys.
func (l v1Backend) Terminal(ctx context.Context, at session.Location) (pty.Order, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return pty.Order{}, err
	}
	c := exec.Config{Deny: p.tools.exec.Deny}
	o := pty.Order{
		Directory: at.Directory, Project: p.project.ID,
		Command: cmp.Or(p.config.Shell, l.getenv("SHELL")), Env: c.Environment(),
	}
	if o.Command == "" {
		if o.Command, err = c.ShellPath(); err != nil {
			return pty.Order{}, session.Errorf(session.CodeInvalid, "no shell found on this machine").At("command")
		}
	}
	return o, nil
}
