package host

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// Terminal implements v1.Places. A terminal is the user's own: it runs the configured shell (that of a project's file only
// once the project is trusted), else the user's, outside of any sandbox. It gets to know what commands get to know, and no
// key.
func (l v1Backend) Terminal(ctx context.Context, at session.Location) (pty.Order, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return pty.Order{}, err
	}
	known := exec.Config{Deny: p.tools.exec.Deny}
	o := pty.Order{Directory: at.Directory, Project: p.project.ID, Command: cmp.Or(p.config.Shell, l.getenv("SHELL")), Env: known.Environment()}
	if o.Command == "" {
		if o.Command, err = known.ShellPath(); err != nil {
			return pty.Order{}, session.Errorf(session.CodeInvalid, "there is no shell on this machine").At("command")
		}
	}
	return o, nil
}
