// Package archive exports the logs of sessions and imports them into another store.
//
// An export has the events of sessions at rest and of their children as they are stored, the contents of files that
// their reverts and diffs need, and the files with the output of their tools (record/logfile has the format). An import
// verifies all of it, then commits it in one transaction, under the same ids. One event of this store follows: it gives
// the session its location here and ends its context epoch. An export leaves that event out while it is the newest one,
// so that the export of an imported session is the imported file, byte for byte.
//
// No rights are imported: dropGrants changes the events that have some. Saved approvals are not part of a log.
package archive

import (
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/session"
)

// Files are what sessions have outside of the log. Contents are named by git's ids of them, outputs by the names of
// their files, which contain the session.
type Files interface {
	// ReadContent returns a content. An error means that it is not stored, or damaged.
	ReadContent(id string) ([]byte, error)
	// PutContent stores a content and returns its id.
	PutContent(content []byte) (string, error)
	// Hold protects the contents that are stored from now on until release is called.
	Hold() (release func())
	// PinBlobs protects contents for the owner, a session, as long as it exists.
	PinBlobs(owner string, ids []string) error
	// ListOutputs returns the names of the session's output files, sorted.
	ListOutputs(id session.ID) []string
	// OpenOutput opens an output file for reading and returns its size.
	OpenOutput(name string) (io.ReadCloser, int64, error)
	// CreateOutput creates an output file of the session. A name that is not one of its files is an error.
	CreateOutput(id session.ID, name string) (io.WriteCloser, error)
	// RemoveOutput removes an output file.
	RemoveOutput(name string) error
	// SpoolDir returns the directory for uploads. It need not exist.
	SpoolDir() string
}

// Config of an Archive. All fields are required.
type Config struct {
	Journal   *turnlog.Journal
	Locations scope.Scopes
	Files     Files
	Version   string // of cairn
	// CheckOpen returns an error once the process accepts no new work.
	CheckOpen func() error
}

// Archive exports and imports logs. Safe for concurrent use.
type Archive struct {
	Config

	mu sync.Mutex // held during an upload: one import at a time
}

// New returns the archive of a store.
func New(c Config) *Archive { return &Archive{Config: c} }

// contentList collects the contents that the events of sessions name, in the order in which they are first named.
// Files outside of the worktree and protected ones are left out: a revert changes the former never, and the latter only
// if it is forced, so that an imported log plants nothing there.
type contentList struct {
	ids  []string
	seen map[string]bool
}

// add adds the contents that are not in the list.
func (l *contentList) add(ids []string) {
	if l.seen == nil {
		l.seen = map[string]bool{}
	}
	for _, id := range ids {
		if !l.seen[id] {
			l.seen[id] = true
			l.ids = append(l.ids, id)
		}
	}
}

// listContents returns the contents that the event names, some of them repeatedly.
func listContents(d session.EventData) []string {
	switch d := d.(type) {
	case *session.FilesWriting:
		return contentsOf(d.Files)
	case *session.TreeChanged:
		return contentsOf(slices.Concat(d.Files, d.Transient))
	case *session.RevertStaged:
		var changes []session.FileChange
		for _, f := range d.Revert.Files {
			changes = append(changes, f.AsChange())
		}
		for _, f := range d.Revert.Kept {
			changes = append(changes, session.FileChange{Path: f.Path, Before: f.State, After: f.To})
		}
		return contentsOf(changes)
	default:
		return nil
	}
}

// contentsOf returns the contents on both sides of the changes.
func contentsOf(changes []session.FileChange) (out []string) {
	for _, c := range changes {
		if !isInWorktree(string(c.Path)) || permission.ProtectedName(string(c.Path)) != "" {
			continue
		}
		for _, s := range []session.PathState{c.Before, c.After} {
			if s.Blob != "" && s.Mode != session.ModeSubmodule {
				out = append(out, s.Blob)
			}
		}
	}
	return out
}

// isInWorktree reports whether the path of a record is one below the worktree.
func isInWorktree(path string) bool { return filepath.IsLocal(path) }
