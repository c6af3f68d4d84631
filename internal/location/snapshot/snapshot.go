// Package snapshot stores contents of the files of a worktree, so that what a session changed can be shown and
// restored.
//
// Contents are stored apart from the worktree, each under the id that git gives it as a blob ([Blobs]). What a command
// changed is the difference between two captures of the worktree, one before and one after it. A git repository is
// captured with an index of cairn's own, which shares the repository's objects (gitTree); another directory with a list
// of its files (dirTree). A capture is compared soon after it is made, by the same process, and needs not last; the
// contents of both sides of a difference are copied to Blobs, where the repository's garbage collection cannot remove
// them. Nothing that a repository configures is run.
package snapshot

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// captureAge is the age up to which a capture can be compared.
const captureAge = time.Hour

// DiskWorktree is a worktree on disk. It implements scope.Worktree, whose comments are the contracts of its methods.
// Safe for concurrent use; one process must not open the same Options.Dir twice.
type DiskWorktree struct {
	options Options
	root    string // without links

	mu       sync.Mutex // guards the rest, and the files of the capturer
	capturer capturer
	captured map[string]capture // those of the last captureAge, by name
}

// Open returns the worktree that o describes. It never fails: a directory, repository or store that cannot be used is
// an error of the methods that need it. It creates no file.
func Open(o Options) *DiskWorktree {
	w := &DiskWorktree{options: o, root: o.Root, captured: map[string]capture{}}
	if real, err := filepath.EvalSymlinks(o.Root); err == nil {
		w.root = real
	}
	repository, isGit := checkout.Find(w.root)
	if isGit && o.Git != "" && repository.Top == w.root && !usesSHA256(repository) {
		w.capturer = newGitTree(o, w.root, repository)
	} else {
		w.capturer = &dirTree{options: o, root: w.root, tight: newPermissions()}
	}
	return w
}

// Root implements scope.Worktree.
func (w *DiskWorktree) Root() string { return w.root }

// CaptureTree implements scope.Worktree.
func (w *DiskWorktree) CaptureTree(ctx context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := capture{began: time.Now()}
	var err error
	if c.tree, c.omitted, err = w.capturer.captureTree(ctx); err != nil {
		return "", err
	}
	c.ended = time.Now()
	_ = os.Chtimes(w.options.Dir, c.began, c.began) // the directory does not exist before the first capture writes to it
	maps.DeleteFunc(w.captured, func(_ string, old capture) bool { return c.began.Sub(old.began) > captureAge })
	name := c.omitted.nameCapture(c.tree)
	w.captured[name] = c
	return name, nil
}

// Compare implements scope.Worktree.
func (w *DiskWorktree) Compare(
	ctx context.Context, from, to string, limit int,
) (found []session.FileChange, omitted []session.FilePath, err error) {
	if from == to {
		return nil, nil, nil
	}
	// Find both captures.
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.captured[from]
	after, alsoKnown := w.captured[to]
	if !known || !alsoKnown {
		return nil, nil, errNoCapture
	}
	// Compare the trees. A removed or replaced file that others could not read keeps its permissions.
	if before.tree != after.tree {
		if found, err = w.capturer.compare(ctx, before.tree, after.tree, limit); err != nil {
			return nil, nil, err
		}
		for i, c := range found {
			perm := w.capturer.findTight(string(c.Path), before.ended)
			if c.After.IsAbsent() || !c.Before.IsAbsent() && perm != w.capturer.findTight(string(c.Path), after.ended) {
				found[i].Perm = perm
			}
		}
	}
	// Leave out files that only seem to be new: they may hold what no capture has.
	omitted = before.omitted.listChanged(after.omitted)
	diff := captureDiff{w.root, before, found, omitted, readOldRules(w.options.Blobs, found), w.options.Blobs}
	found, omitted = diff.dropForeign()
	return found, omitted, nil
}

// ReadStates implements scope.Worktree. The state of a directory is that of no file.
func (w *DiskWorktree) ReadStates(ctx context.Context, paths []session.FilePath) ([]session.PathState, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	out := make([]session.PathState, len(paths))
	for i, p := range paths {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		switch out[i], err = readState(root, string(p)); {
		case err != nil:
			out[i] = session.PathState{Mode: modeOther} // no call left it so
		case out[i].Mode == modeDirectory:
			out[i] = session.PathState{}
		}
	}
	return out, nil
}

// Save implements scope.Worktree.
func (w *DiskWorktree) Save(_ context.Context, p session.FilePath) (session.PathState, error) {
	root, err := os.OpenRoot(w.root)
	if err != nil {
		return session.PathState{}, err
	}
	defer root.Close()
	return saveFile(root, w.options.Blobs, string(p))
}

// Put implements scope.Worktree.
func (w *DiskWorktree) Put(_ context.Context, content []byte, mode uint32) (session.PathState, error) {
	blob, err := w.options.Blobs.Put(content)
	if err != nil {
		return session.PathState{}, err
	}
	return session.PathState{Blob: blob, Mode: mode}, nil
}

// Read implements scope.Worktree.
func (w *DiskWorktree) Read(_ context.Context, blob string, limit int64) ([]byte, error) {
	return w.options.Blobs.Read(blob, limit)
}

// PinBlobs implements scope.Worktree.
func (w *DiskWorktree) PinBlobs(_ context.Context, id session.ID, blobs []string) error {
	return w.options.Blobs.PinBlobs(string(id), blobs)
}

// HoldBlobs implements scope.Worktree.
func (w *DiskWorktree) HoldBlobs() (release func()) {
	return w.options.Blobs.HoldCaptures(w.options.Dir)
}
