package host

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/server/v1"
	"github.com/cairn-dev/cairn/internal/session"
)

// Place implements v1.Places.
func (l *locations) Place(ctx context.Context, at session.Location) (v1.Place, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return v1.Place{}, err
	}
	return v1.Place{Directory: p.project.Directory, Worktree: cmp.Or(p.project.Worktree, "/"), ProjectID: p.project.ID}, nil
}

// Home implements v1.Places.
func (l *locations) Home() v1.Home {
	return v1.Home{Home: l.dirs.Home, Config: l.dirs.Config, State: l.dirs.State}
}
