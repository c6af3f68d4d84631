package scope

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// Worktree keeps contents of the files of a directory, so that they can be shown and restored. A path is relative to
// Root. Safe for concurrent use, also by several processes.
type Worktree interface {
	// Root returns the real path of the directory.
	Root() string
	// CaptureTree finds out what the files contain, except for ignored and large ones, and returns a name for it.
	CaptureTree(ctx context.Context) (tree string, err error)
	// Compare returns the differences between two captures of this process, by path, and keeps the contents of both
	// sides. More than limit are an error. Omitted are files that changed and that the captures leave out, because
	// they are large, were ignored or cannot be read, and repositories inside of this one.
	Compare(
		ctx context.Context, from, to string, limit int,
	) (found []session.FileChange, omitted []session.FilePath, err error)
	// ReadStates returns what the paths hold now.
	ReadStates(ctx context.Context, paths []session.FilePath) ([]session.PathState, error)
	// ChangedSince reports whether what the path holds may have changed at the time or later.
	ChangedSince(path session.FilePath, at time.Time) bool
	// TightMode returns the permissions of a file that the group or others cannot read; 0 for every other file.
	TightMode(path session.FilePath) uint32
	// Save keeps what the path holds now, and returns it.
	Save(ctx context.Context, path session.FilePath) (session.PathState, error)
	// Put keeps a content.
	Put(ctx context.Context, content []byte, mode uint32) (session.PathState, error)
	// Read returns a content that is kept, of at most limit bytes.
	Read(ctx context.Context, blob string, limit int64) ([]byte, error)
	// HoldBlobs protects what is captured and kept from now on until release is called, also if the only session that
	// pins it is deleted. The caller holds until it has pinned what it needs.
	HoldBlobs() (release func())
	// PinBlobs protects contents from removal until the session is deleted. What was kept lately and never pinned is
	// protected for a day without it.
	PinBlobs(ctx context.Context, id session.ID, blobs []string) error
	// CopyBlob writes a content that is kept to a file of its own, which stays, and returns the path of that. The file
	// is named for the path whose content it was.
	CopyBlob(ctx context.Context, path session.FilePath, blob string) (copyPath string, err error)
	// Restore makes the changes, each atomically. It changes a file only if it is in the state Before, else the
	// error is session.ErrFileChanged. It returns an error for each change, nil if the file is in the state After.
	Restore(ctx context.Context, changes []session.FileChange) []error
}
