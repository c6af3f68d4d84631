package host

import (
	"context"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/location/project"
)

// checkouts implements admit.Checkouts.
type checkouts struct {
	projects *project.Finder
	locks    *worktreeLocks
}

// CopyChanges implements admit.Checkouts. Neither working tree is removed or reset until the copy is taken out of one of
// them: a removal that does not know the session yet would delete what was copied.
func (c checkouts) CopyChanges(ctx context.Context, from, to string) (admit.ChangesCopy, error) {
	source, err := c.projects.Find(ctx, from)
	if err != nil {
		return nil, err
	}
	destination, err := c.projects.Find(ctx, to)
	if err != nil {
		return nil, err
	}
	leave, err := c.locks.occupyForMove(source.Worktree, destination.Worktree)
	if err != nil {
		return nil, err
	}
	copied, err := c.projects.CopyChanges(ctx, source, destination)
	if err != nil {
		leave()
		return nil, err // not a nil *project.ChangesCopy in the interface
	}
	return lockedCopy{copied, leave}, nil
}

// CompleteCopy implements admit.Checkouts.
func (c checkouts) CompleteCopy(ctx context.Context, from, to string) ([]string, error) {
	source, err := c.projects.Find(ctx, from)
	if err != nil {
		return nil, err
	}
	destination, err := c.projects.Find(ctx, to)
	if err != nil {
		return nil, err
	}
	leave, err := c.locks.occupyForMove(source.Worktree, destination.Worktree)
	if err != nil {
		return nil, err
	}
	defer leave()
	return c.projects.CompleteCopy(ctx, source, destination)
}

// lockedCopy are copied changes whose working trees are occupied until they are in one only.
type lockedCopy struct {
	*project.ChangesCopy
	leave func()
}

// Remove implements admit.ChangesCopy.
func (c lockedCopy) Remove(ctx context.Context) error {
	defer c.leave()
	return c.ChangesCopy.Remove(ctx)
}

// TakeBack implements admit.ChangesCopy.
func (c lockedCopy) TakeBack(ctx context.Context) error {
	defer c.leave()
	return c.ChangesCopy.TakeBack(ctx)
}
