package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/transfer/mirror"
)

// copiesFile lists, in the data directory, the mirrors and backups that were made, so that a deletion can name those
// that keep a session.
const copiesFile = "copies.json"

// The bounds of the file.
const (
	maxCopies     = 100 // the newest ones
	maxCopiesFile = 1 << 20
)

// storeCopy is a mirror or a backup. Time is when it was made, or a mirror began to be used, in milliseconds.
type storeCopy struct {
	Kind string `json:"kind"` // kindMirror or kindBackup
	Path string `json:"path"`
	Time int64  `json:"time"`
}

const (
	kindMirror = "mirror"
	kindBackup = "backup"
)

// recordCopy adds a mirror or a backup to the list. A mirror that is the newest one already costs a read only: each start
// of an owner records it.
func recordCopy(ctx context.Context, dirs config.Directories, kind, path string) error {
	file := filepath.Join(dirs.Data, copiesFile)
	if list, err := readCopies(file); err == nil && kind == kindMirror && len(list) > 0 {
		if newest := list[len(list)-1]; newest.Kind == kind && newest.Path == path {
			return nil
		}
	}
	return statefile.WithLock(ctx, file, func() error {
		list, err := readCopies(file)
		if err != nil {
			return err
		}
		list = slices.DeleteFunc(list, func(c storeCopy) bool { return c.Path == path })
		list = append(list, storeCopy{kind, path, time.Now().UnixMilli()})
		text, err := json.Marshal(list[max(0, len(list)-maxCopies):])
		if err != nil {
			return err
		}
		return statefile.Replace(file, append(text, '\n'), 0o600)
	})
}

// readCopies returns the list, oldest first. A file that cannot be parsed counts as empty: it is a help only.
func readCopies(file string) (list []storeCopy, err error) {
	text, err := statefile.Read(file, maxCopiesFile)
	if err != nil || text == nil || json.Unmarshal(text, &list) != nil {
		return nil, err
	}
	return list, nil
}

// FindCopies implements cli.Maintenance.
func (h Host) FindCopies(ctx context.Context, o client.Options, s *session.Session) (found []string, err error) {
	dirs, err := config.FindDirectories(o.Env)
	if err != nil {
		return nil, err
	}
	user, err := config.Load(ctx, config.Options{Dirs: dirs, Env: o.Env})
	if err != nil {
		return nil, err
	}
	list, err := readCopies(filepath.Join(dirs.Data, copiesFile))
	if err != nil {
		return nil, err
	}
	// The copies that an upgrade made are not in the list, and neither is a mirror of an earlier version.
	upgrades, _ := filepath.Glob(filepath.Join(dirs.Data, "backup", "*.db")) // the pattern is well-formed
	for _, path := range upgrades {
		if info, err := os.Stat(path); err == nil {
			list = append(list, storeCopy{kindBackup, path, info.ModTime().UnixMilli()})
		}
	}
	if own := config.MirrorFolder("true").In(dirs); !slices.ContainsFunc(list, func(c storeCopy) bool { return c.Path == own }) {
		list = append(list, storeCopy{Kind: kindMirror, Path: own})
	}
	followed := user.Storage.Mirror.In(dirs)
	for _, c := range list {
		if c.Path != followed && c.mayHave(s) {
			found = append(found, c.describe())
		}
	}
	if followed != "" && !awaitRemoval(ctx, followed, s.ID) {
		found = append(found, "the mirror "+followed+" (not brought up to date; see cairn fsck --mirror)")
	}
	return found, nil
}

// The mirror that is followed removes a deleted session by itself, in this process or in another one.
const (
	removalTime = 2 * time.Second
	removalStep = 50 * time.Millisecond
)

// awaitRemoval waits until the mirror that is followed does not have the session any more, and reports whether that is so
// within a moment.
func awaitRemoval(ctx context.Context, dir string, id session.ID) bool {
	ctx, cancel := context.WithTimeout(ctx, removalTime)
	defer cancel()
	for mirror.HasSession(dir, id) {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(removalStep):
		}
	}
	return true
}

// mayHave reports whether a mirror has the session, or a backup that exists can have it: it is not older.
func (c storeCopy) mayHave(s *session.Session) bool {
	if c.Kind == kindMirror {
		return mirror.HasSession(c.Path, s.ID)
	}
	_, err := os.Stat(c.Path)
	return !errors.Is(err, fs.ErrNotExist) && c.Time >= s.Time.Created
}

// describe returns the copy as the subject of a sentence.
func (c storeCopy) describe() string {
	if c.Kind == kindMirror {
		return "the mirror " + c.Path + " (not followed any more)"
	}
	return fmt.Sprintf("the backup %s of %s", c.Path, time.UnixMilli(c.Time).Format(time.DateOnly))
}
