package host

import (
	"context"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// Chain implements scope.Scopes.
func (l *locationCache) Chain(ctx context.Context, at session.Location) *extension.Chain {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil
	}
	return p.scope.Chain
}
