package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/snapshot"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// The bounds of what is kept of the files that calls change.
const (
	maxSnapshots = 5 << 30             // bytes of contents
	pinGrace     = 10 * time.Minute    // how long pins without a session are kept: an import pins before it creates the session
	worktreeAge  = 30 * 24 * time.Hour // after which the captures of an unused worktree are removed, but not the copies
)

// snapshots are the worktrees whose files are kept, and their contents.
type snapshots struct {
	dir    string
	blobs  *snapshot.Blobs
	logger *slog.Logger

	mu   sync.Mutex // guards open
	open map[string]*snapshot.DiskWorktree

	deleted deletedSessions
}

func snapshotDir(data string) string { return filepath.Join(data, "snapshot") }

func newSnapshots(data string, logger *slog.Logger) *snapshots {
	dir := snapshotDir(data)
	return &snapshots{
		dir: dir, blobs: snapshot.NewBlobs(dir), logger: logger,
		open: map[string]*snapshot.DiskWorktree{}, deleted: deletedSessions{wake: make(chan struct{}, 1)},
	}
}

// findWorktree returns the worktree of a directory, the same for every call. A session below the top of a repository
// captures all of it, unless that takes long.
func (s *snapshots) findWorktree(p project.Project) scope.Worktree {
	root, scope := p.Worktree, p.Subpath
	if root == "" {
		root = p.Directory
	}
	if !hasLargeIndex(root) {
		scope = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	key := root + "\x00" + scope
	if w := s.open[key]; w != nil {
		return w
	}
	sum := sha256.Sum256([]byte(key))
	w := snapshot.Open(snapshot.Options{
		Blobs: s.blobs, Dir: filepath.Join(s.dir, "worktrees", hex.EncodeToString(sum[:12])), Root: root, Scope: scope,
		Git: findGit(), Logger: s.logger,
	})
	s.open[key] = w
	return w
}

// hasLargeIndex reports whether the repository at root has more than about 150,000 files, which take 0.2 seconds to
// search.
func hasLargeIndex(root string) bool {
	const large = 16 << 20 // bytes
	repository, ok := checkout.Find(root)
	if !ok {
		return false
	}
	info, err := os.Stat(filepath.Join(repository.GitDir, "index"))
	return err == nil && info.Size() > large
}

// findGit returns the git program; "" without one that no worktree can replace.
func findGit() string {
	git, err := exec.LookPath("git")
	if err != nil || !filepath.IsAbs(git) {
		return ""
	}
	return git
}

// collect removes what no session needs, and the captures of worktrees that were not used for long.
func (s *snapshots) collect(ctx context.Context, now time.Time, deleted func(session.ID) (bool, error)) error {
	// Contents of deleted sessions are free. A session that is imported or forked now pins before it exists.
	owners, err := s.blobs.ListOwners(now.Add(-pinGrace))
	if err != nil {
		return err
	}
	var gone []string
	for _, id := range owners {
		isGone, err := deleted(session.ID(id))
		if err != nil {
			return err
		}
		if isGone {
			gone = append(gone, id)
		}
	}
	if _, err := s.blobs.RemoveOwners(ctx, gone); err != nil {
		return err
	}
	// Beyond the limit those of quiet sessions go.
	if err := s.blobs.Collect(ctx, maxSnapshots); err != nil {
		return err
	}
	// Captures: all of worktrees that were not used for long, old objects of the others.
	entries, err := os.ReadDir(filepath.Join(s.dir, "worktrees"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	err = nil
	for _, e := range entries {
		dir := filepath.Join(s.dir, "worktrees", e.Name())
		info, infoErr := e.Info()
		switch {
		case infoErr != nil:
			err = errors.Join(err, infoErr)
		case now.Sub(info.ModTime()) > worktreeAge:
			err = errors.Join(err, removeCaptures(dir))
		default:
			err = errors.Join(err, snapshot.PruneObjects(ctx, findGit(), dir))
		}
	}
	return err
}

// removeCaptures removes what is kept of a worktree but the copies that forced reverts made: those are the only place
// of what their files held.
func removeCaptures(dir string) error {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if e.Name() != "copies" {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	if err == nil {
		_ = os.Remove(dir) // fails if there are copies
	}
	return err
}

// sessionFiles are the files outside of the store that belong to sessions.
type sessionFiles struct {
	*tool.Outputs
	*snapshot.Blobs
	snapshots *snapshots
	spool     string // for uploads
}

// ReadContent implements archive.Files.
func (f sessionFiles) ReadContent(id string) ([]byte, error) {
	return f.Blobs.Read(id, snapshot.MaxBlob)
}

// PutContent implements archive.Files.
func (f sessionFiles) PutContent(content []byte) (string, error) { return f.Blobs.Put(content) }

// Read implements task.OutputReader.
func (f sessionFiles) Read(path string, offset int64, n int) (text []byte, next int64, err error) {
	return f.Outputs.Read(path, offset, n)
}

// SpoolDir implements archive.Files.
func (f sessionFiles) SpoolDir() string { return f.spool }

// Remove implements admit.OutputRemover.
func (f sessionFiles) Remove(id session.ID, paths []string, isUnused func(session.ID) (bool, error)) error {
	return f.Outputs.Remove(id, paths, isUnused)
}

// RemoveContents implements admit.OutputRemover: the process removes them in the background.
func (f sessionFiles) RemoveContents(id session.ID) { f.snapshots.deleted.add(id) }
