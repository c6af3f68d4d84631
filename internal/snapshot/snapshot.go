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
	"path/filepath"
	"sync"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/session"
)

// KeptTree implements location.Worktree. Safe for concurrent use.
type KeptTree struct {
	options Options
	root    string // without links

	mu    sync.Mutex // guards trees and their files
	trees captures
}

// captures finds out what a worktree contains.
type captures interface {
	// captureTree returns the name of what the worktree contains now.
	captureTree(ctx context.Context) (string, error)
	// compare returns the differences between two captures, by path, at most limit, and keeps the contents of both
	// sides.
	compare(ctx context.Context, from, to string, limit int) ([]session.FileChange, error)
}

// Open returns a worktree. It touches no file: what cannot be used fails when it is used.
func Open(o Options) *KeptTree {
	w := &KeptTree{options: o, root: o.Root}
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
	return w.trees.captureTree(ctx)
}

// Compare implements location.Worktree.
func (w *KeptTree) Compare(ctx context.Context, from, to string, limit int) ([]session.FileChange, error) {
	if from == to {
		return nil, nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trees.compare(ctx, from, to, limit)
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
