// Package snapshot keeps contents of the files of a worktree, so that what a session changed can be shown and restored.
//
// Contents are kept in a store of cairn's own, under git's ids of blobs. What a command changed is the difference
// between two captures of the worktree: of a git repository, with an index of our own (gittree), which shares the
// repository's objects; of another directory, with a list of its files (dirtree). A capture is compared soon after it
// is made; what has to last is the contents, which are kept independently of the repository: its garbage collection
// cannot take them. Nothing that a repository configures is run.
package snapshot

import (
	"context"
	"errors"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// KeptTree implements location.Worktree. Safe for concurrent use.
type KeptTree struct {
	options Options
	root    string // without links

	mu       sync.Mutex // guards the rest, and the files of trees
	trees    captures
	captured map[string]capture // the newest ones, by name
}

// capture is what is known of a capture besides its files.
type capture struct {
	tree  string // its name for captures
	began time.Time
	left  leftFiles
}

// captures finds out what a worktree contains.
type captures interface {
	// captureTree returns a name for what the worktree contains now, and the files that it leaves out.
	captureTree(ctx context.Context) (name string, left leftFiles, err error)
	// compare returns the differences between two captures, by path, at most limit, and keeps the contents of both
	// sides.
	compare(ctx context.Context, from, to string, limit int) ([]session.FileChange, error)
}

// Open returns a worktree. It touches no file: what cannot be used fails when it is used.
func Open(o Options) *KeptTree {
	w := &KeptTree{options: o, root: o.Root, captured: map[string]capture{}}
	if real, err := filepath.EvalSymlinks(o.Root); err == nil {
		w.root = real
	}
	repository, isGit := checkout.Find(w.root)
	if isGit && o.Git != "" && repository.Top == w.root && !usesSHA256(repository) {
		w.trees = newGitTree(o, w.root, repository)
	} else {
		w.trees = &dirTree{options: o, root: w.root}
	}
	return w
}

// Root implements location.Worktree.
func (w *KeptTree) Root() string { return w.root }

// CaptureTree implements location.Worktree.
func (w *KeptTree) CaptureTree(ctx context.Context) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := capture{began: time.Now()}
	var err error
	if c.tree, c.left, err = w.trees.captureTree(ctx); err != nil {
		return "", err
	}
	_ = os.Chtimes(w.options.Dir, c.began, c.began) // fails if there is no capture yet
	maps.DeleteFunc(w.captured, func(_ string, old capture) bool { return c.began.Sub(old.began) > time.Hour })
	name := c.left.nameCapture(c.tree)
	w.captured[name] = c
	return name, nil
}

// Compare implements location.Worktree.
func (w *KeptTree) Compare(
	ctx context.Context, from, to string, limit int,
) (found []session.FileChange, omitted []session.FilePath, err error) {
	if from == to {
		return nil, nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	before, known := w.captured[from]
	after, alsoKnown := w.captured[to]
	if !known || !alsoKnown {
		return nil, nil, errors.New("the captures are no longer known")
	}
	if before.tree != after.tree {
		if found, err = w.trees.compare(ctx, before.tree, after.tree, limit); err != nil {
			return nil, nil, err
		}
	}
	if slices.ContainsFunc(found, func(c session.FileChange) bool { return path.Base(string(c.Path)) == ".gitignore" }) {
		found = slices.DeleteFunc(found, func(c session.FileChange) bool { return w.wasIgnored(c, before.began) })
	}
	for name := range before.left {
		if before.left[name] != after.left[name] {
			omitted = append(omitted, session.FilePath(name))
		}
	}
	for name := range after.left {
		if _, both := before.left[name]; !both {
			omitted = append(omitted, session.FilePath(name))
		}
	}
	slices.Sort(omitted)
	return slices.DeleteFunc(found, func(c session.FileChange) bool {
		_, isOmitted := slices.BinarySearch(omitted, c.Path)
		return isOmitted
	}), omitted, nil
}

// wasIgnored reports whether a file that was added is older than the capture, so that it was there and ignored: the
// command did not write it. Its removal would not be a restoration.
func (w *KeptTree) wasIgnored(c session.FileChange, captured time.Time) bool {
	if !c.Before.IsAbsent() {
		return false
	}
	const tick = 50 * time.Millisecond // file systems count time in steps
	info, err := os.Lstat(filepath.Join(w.root, filepath.FromSlash(string(c.Path))))
	return err == nil && info.ModTime().Before(captured.Add(-tick))
}

// Put implements location.Worktree.
func (w *KeptTree) Put(_ context.Context, content []byte, mode uint32) (session.PathState, error) {
	blob, err := w.options.Blobs.Put(content)
	if err != nil {
		return session.PathState{}, err
	}
	return session.PathState{Blob: blob, Mode: mode}, nil
}

// Read implements location.Worktree.
func (w *KeptTree) Read(_ context.Context, blob string, limit int64) ([]byte, error) {
	return w.options.Blobs.Read(blob, limit)
}

// PinBlobs implements location.Worktree.
func (w *KeptTree) PinBlobs(_ context.Context, id session.ID, blobs []string) error {
	return w.options.Blobs.PinBlobs(string(id), blobs)
}
