package snapshot

import (
	"context"
	"errors"
	"path"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// fileTimeStep is the step in which file systems count time: a modification this close to a capture may be before or
// after it.
const fileTimeStep = 50 * time.Millisecond

// errNoCapture is the error of a comparison with a capture of another process, or one that was dropped.
var errNoCapture = errors.New("the capture before the command is no longer available")

// capture holds the facts about a capture besides its files.
type capture struct {
	tree    string // the capturer's name for the files
	began   time.Time
	ended   time.Time
	omitted omittedFiles
}

// capturer finds out what a worktree contains. It is implemented by gitTree and dirTree.
type capturer interface {
	// captureTree returns a name for what the worktree contains now, and the files that it leaves out.
	captureTree(ctx context.Context) (name string, omitted omittedFiles, err error)
	// compare returns the differences between two captures, by path, and stores the contents of both sides. More than
	// limit differences are an error.
	compare(ctx context.Context, from, to string, limit int) ([]session.FileChange, error)
	// findTight returns the permissions that a file had in the capture that ended at a time; 0 if others could read it.
	findTight(name string, ended time.Time) uint32
}

// isTemporary reports whether the name is that of a file that cairn writes before it renames it to its place.
func isTemporary(name string) bool {
	base := path.Base(name)
	return strings.HasPrefix(base, ".cairn-") && strings.HasSuffix(base, ".tmp")
}
