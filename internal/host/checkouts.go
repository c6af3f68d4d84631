package host

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/location/project"
)

// checkouts implements admit.Checkouts.
type checkouts struct{ projects *project.Finder }

// CopyChanges implements admit.Checkouts.
func (c checkouts) CopyChanges(ctx context.Context, from, to string) (admit.ChangesCopy, error) {
	source, err := c.projects.Find(ctx, from)
	if err != nil {
		return nil, err
	}
	destination, err := c.projects.Find(ctx, to)
	if err != nil {
		return nil, err
	}
	copied, err := c.projects.CopyChanges(ctx, source, destination)
	if err != nil {
		return nil, err // not a nil *project.ChangesCopy in the interface
	}
	return copied, nil
}
