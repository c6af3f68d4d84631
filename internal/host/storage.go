package host

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
)

// storageKind is one kind of what cairn stores below one of its directories.
type storageKind struct {
	what    string
	pattern string // of the beginning of the path below the directory, by component as filepath.Match
	kept    string
	limit   int64 // bytes; 0: none
}

// dataKinds returns the kinds below the data directory. The first one that matches counts a file.
func dataKinds(settings config.Storage) []storageKind {
	kept := "until cairn session delete"
	if p := settings.Retention.Policy(); !p.IsZero() {
		kept = "storage.retention: " + p.String()
	}
	return append([]storageKind{
		{"sessions", "cairn.db*", kept, int64(settings.Quota)},
		{"search index", "search.*", "made anew if it is removed", settings.Search.MaxBytes()},
	}, otherDataKinds...)
}

var otherDataKinds = []storageKind{
	{"backups of sessions", "backup", "made before an upgrade; never removed", 0},
	{"tool output", "tool-output", "7 days, less beyond its limit", 0},
	{"copies", "snapshot/worktrees/*/copies", "what a forced revert replaced; never removed", 0},
	{"captures", "snapshot/worktrees", "the newest of a worktree 30 days, others 1 day", 0},
	{"file contents", "snapshot", "for cairn undo; those of quiet sessions go first", maxSnapshots},
	{"mirror of sessions", "mirror", "what storage.mirror writes; stays when it is turned off", 0},
	{"reserve", "reserve", "for deletions on a full disk", 0},
	{"audit log", "audit", "never removed", 0},
	{"other data", "", "", 0},
}

// The kinds below the other directories.
var (
	stateKinds = []storageKind{{"logs and locks", "", "", 0}}
	cacheKinds = []storageKind{{"caches", "", "can be removed when no cairn works", 0}}
)

// MeasureStorage implements cli.Maintenance.
func (h Host) MeasureStorage(ctx context.Context, o client.Options) ([]client.StorageUse, error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	settings, _ := loadStorageSettings(ctx, dirs, o) // without them bounds are not shown
	var out []client.StorageUse
	for _, d := range []struct {
		dir   string
		kinds []storageKind
	}{{dirs.Data, dataKinds(settings)}, {dirs.State, stateKinds}, {dirs.Cache, cacheKinds}} {
		uses, err := measureDirectory(ctx, d.dir, d.kinds)
		if err != nil {
			return nil, err
		}
		out = append(out, uses...)
	}
	return out, nil
}

// measureDirectory counts the files below a directory, which need not exist, by kind. Kinds without files are left out.
func measureDirectory(ctx context.Context, dir string, kinds []storageKind) ([]client.StorageUse, error) {
	uses := make([]client.StorageUse, len(kinds))
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		// Files may disappear during the walk, because other processes write to the directory.
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was removed meanwhile
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !e.Type().IsRegular():
			return nil
		}
		info, err := e.Info()
		if err != nil {
			return nil // as above
		}
		rel := strings.TrimPrefix(path, dir+string(os.PathSeparator))
		// The first kind that matches counts the file, so specific kinds come before general ones.
		for i, k := range kinds {
			if matchesStart(k.pattern, filepath.ToSlash(rel)) {
				uses[i].Files++
				uses[i].Bytes += info.Size()
				break
			}
		}
		return nil
	})
	// Describe the kinds with files, also after an error.
	var out []client.StorageUse
	for i, k := range kinds {
		if uses[i].Files == 0 {
			continue
		}
		start, _, _ := strings.Cut(k.pattern, "*")
		uses[i].What, uses[i].Kept, uses[i].Limit, uses[i].Path = k.what, k.kept, k.limit, filepath.Join(dir, start)
		out = append(out, uses[i])
	}
	return out, err
}

// matchesStart reports whether the pattern matches the path's first components.
func matchesStart(pattern, path string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(path, "/")
	n := strings.Count(pattern, "/") + 1
	if len(parts) < n {
		return false
	}
	matched, err := filepath.Match(pattern, strings.Join(parts[:n], "/"))
	return err == nil && matched
}
