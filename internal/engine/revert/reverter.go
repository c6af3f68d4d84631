package revert

import (
	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
)

// Reverter stages, clears and completes reverts of one session, which must be idle.
type Reverter struct {
	Journal *journal.Journal
	Changes *changes.ChangeRecorder
	Files   location.Worktree // nil: no file is restored

	rule rule // nil except in tests
}
