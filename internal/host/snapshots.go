package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/snapshot"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// The bounds of what is kept of the files that calls change.
const (
	maxSnapshots = 5 << 30             // bytes of contents
	worktreeAge  = 30 * 24 * time.Hour // after which the captures of an unused worktree are removed, but not the copies
)

// snapshots are the worktrees whose files are kept, and their contents.
type snapshots struct {
	dir    string
	blobs  *snapshot.Blobs
	logger *slog.Logger

	mu   sync.Mutex // guards open
	open map[string]*snapshot.DiskWorktree
}

func newSnapshots(data string, logger *slog.Logger) *snapshots {
	dir := filepath.Join(data, "snapshot")
	return &snapshots{
		dir: dir, blobs: snapshot.NewBlobs(dir), logger: logger,
		open: map[string]*snapshot.DiskWorktree{},
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
	owners, err := s.blobs.ListOwners()
	if err != nil {
		return err
	}
	for _, id := range owners {
		gone, err := deleted(session.ID(id))
		if err == nil && gone {
			err = s.blobs.UnpinAll(id)
		}
		if err != nil {
			return err
		}
	}
	if err := s.blobs.Collect(ctx, maxSnapshots); err != nil {
		return err
	}
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

// examineBlobs reads all contents that are kept of files, and says which are damaged. An undo does not use those.
func examineBlobs(ctx context.Context, dirs config.Directories) []cli.Finding {
	read, damaged, err := snapshot.NewBlobs(filepath.Join(dirs.Data, "snapshot")).ListDamaged(ctx)
	if err != nil {
		return []cli.Finding{{Level: cli.LevelWarning, What: "snapshots", Detail: err.Error()}}
	}
	if len(damaged) > 0 {
		return []cli.Finding{{
			Level: cli.LevelError, What: "snapshots",
			Detail: fmt.Sprintf("%d of %d contents of files are damaged; cairn undo cannot restore them", len(damaged), read),
			Fix:    "check the disk, and remove the damaged files, such as " + damaged[0],
		}}
	}
	if read == 0 {
		return nil
	}
	return []cli.Finding{{
		Level: cli.LevelOK, What: "snapshots", Detail: fmt.Sprintf("%d contents of files read", read),
	}}
}

// examineSnapshots says how much is kept of the files that calls changed.
func examineSnapshots(dirs config.Directories) []cli.Finding {
	dir, size := filepath.Join(dirs.Data, "snapshot"), int64(0)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		var info fs.FileInfo
		if err == nil && e.Type().IsRegular() {
			if info, err = e.Info(); err == nil {
				size += info.Size()
			}
		}
		if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
			return nil
		}
		return err
	})
	if err != nil {
		return []cli.Finding{{Level: cli.LevelWarning, What: "snapshots", Detail: err.Error()}}
	}
	return []cli.Finding{{
		Level: cli.LevelOK, What: "snapshots",
		Detail: fmt.Sprintf("%.1f MiB of files as sessions found them, for cairn undo; the limit is %d MiB",
			float64(size)/(1<<20), maxSnapshots>>20),
	}}
}

// sessionFiles are the files outside of the store that belong to sessions.
type sessionFiles struct {
	*tool.Outputs
	blobs *snapshot.Blobs
}

// Remove implements admit.OutputRemover.
func (f sessionFiles) Remove(id session.ID, paths []string) error {
	return errors.Join(f.Outputs.Remove(id, paths), f.blobs.UnpinAll(string(id)))
}
