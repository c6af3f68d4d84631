// Package mirror writes every session as OpenCode's V1 objects into a tree of JSON files (package jsontree), for
// programs that read OpenCode's files. A Mirror is a consumer of package follower; Repair compares the whole tree with
// the store and rewrites what differs.
//
//	storage/project/PROJECT.json
//	storage/session/PROJECT/SESSION.json
//	storage/message/SESSION/MESSAGE.json
//	storage/part/MESSAGE/PART.json
//	storage/session_diff/SESSION.json   if the session changed files
//	storage/todo/SESSION.json           if it has a todo list
//	storage/.cairn-mirror.json          the store that the tree belongs to
//	storage/.cairn-cursor.json          how far it is up to date
//
// The tree has what the store has: nothing is left out or masked. Names are ids. A folder is used only if it is empty
// or already the mirror of the same store, so that files of OpenCode are never changed.
package mirror

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/record/follower"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
	"github.com/cairn-dev/cairn/internal/transfer/changes"
	"github.com/cairn-dev/cairn/internal/transfer/jsontree"
)

// Mirror is the mirror of a store in a folder. Its methods must not overlap in one process; other processes may repair
// the same mirror meanwhile.
type Mirror struct {
	Store   store.Viewer
	StoreID string // identifies the store
	Dir     string // the data folder of the tree, which holds storage
	Logger  *slog.Logger

	tree *jsontree.Tree // nil until it is needed, and after an error
}

const (
	storageDir = "storage"
	markerName = jsontree.MirrorMarker
	cursorName = ".cairn-cursor.json"
	maxMarker  = 4096
)

// CursorFile returns the path of the follower's cursor. It is within the tree: if the tree is removed, it is written
// anew.
func CursorFile(dir string) string { return filepath.Join(dir, storageDir, cursorName) }

// marker says which store a tree belongs to.
type marker struct {
	Store string `json:"store"`
}

// CheckDir returns why the folder cannot be the mirror of the store; nil if it can, or does not exist yet. It changes
// nothing.
func CheckDir(dir, storeID string) error {
	_, err := readMarker(dir, storeID)
	return err
}

// HasSession reports whether a folder has the session, or some of its messages, in the form of a mirror. A mirror whose
// marker was removed, which nothing writes any more, is one too.
func HasSession(dir string, id session.ID) bool {
	name := jsontree.FileName(string(id))
	if left, _ := os.ReadDir(filepath.Join(dir, storageDir, "message", name)); len(left) > 0 {
		return true
	}
	projects, _ := os.ReadDir(filepath.Join(dir, storageDir, "session")) // without it there is no session
	for _, p := range projects {
		file := filepath.Join(dir, storageDir, "session", p.Name(), name+".json")
		if _, err := os.Stat(file); err == nil {
			return true
		}
	}
	return false
}

// readMarker reports whether the folder is the mirror of the store already. A folder with other files is an error.
func readMarker(dir, storeID string) (isOurs bool, err error) {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !info.IsDir():
		return false, fmt.Errorf("%s is not a folder", dir)
	}
	text, err := statefile.ReadRegular(filepath.Join(dir, storageDir, markerName), maxMarker)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		entries, err := os.ReadDir(dir)
		if err == nil && len(entries) > 0 && !isFreshTree(dir, entries) {
			err = fmt.Errorf("%s has files that are not of a mirror; name an empty folder", dir)
		}
		return false, err
	}
	if err != nil {
		return false, err
	}
	var m marker
	if json.Unmarshal(text, &m) != nil || m.Store != storeID {
		return false, fmt.Errorf("%s is the mirror of another store; name an empty folder", dir)
	}
	return true, nil
}

// isFreshTree reports whether the folder holds nothing but an empty tree, which a process that was ended while it made
// the mirror leaves.
func isFreshTree(dir string, entries []os.DirEntry) bool {
	if len(entries) != 1 || entries[0].Name() != storageDir {
		return false
	}
	within, err := os.ReadDir(filepath.Join(dir, storageDir))
	for _, e := range within {
		if e.Name() != ".lock" && e.Name() != "migration" {
			return false
		}
	}
	return err == nil
}

// open opens the tree, and makes it if necessary.
func (m *Mirror) open(ctx context.Context) error {
	if m.tree != nil {
		return nil
	}
	isOurs, err := readMarker(m.Dir, m.StoreID)
	if err != nil {
		return err
	}
	tree, err := jsontree.OpenTree(m.Dir)
	if err != nil {
		return err
	}
	err = tree.Migrate(ctx, func(context.Context, string) (string, error) { return "", nil })
	if err == nil && !isOurs {
		err = m.writeMarker()
	}
	if err != nil {
		return errors.Join(err, tree.Close())
	}
	m.tree = tree
	return nil
}

func (m *Mirror) writeMarker() error {
	text, err := json.Marshal(marker{m.StoreID})
	if err != nil {
		return err
	}
	return statefile.Replace(filepath.Join(m.Dir, storageDir, markerName), append(text, '\n'), 0o600)
}

// Close releases the folder. The mirror can be used again.
func (m *Mirror) Close() error {
	if m.tree == nil {
		return nil
	}
	err := m.tree.Close()
	m.tree = nil
	return err
}

// fail closes the tree after an error, so that the next attempt opens a folder that was replaced meanwhile, and says
// which folder the error is of.
func (m *Mirror) fail(err error) error {
	if err == nil {
		return nil
	}
	return errors.Join(fmt.Errorf("mirror %s: %w", m.Dir, err), m.Close())
}

// Rebuild implements follower.Consumer: it is Repair without its report.
func (m *Mirror) Rebuild(ctx context.Context, progress string, save func(string) error) error {
	_, err := m.repair(ctx, progress, save)
	return err
}

// Apply implements follower.Consumer: it brings the sessions of the events up to date.
func (m *Mirror) Apply(ctx context.Context, events []store.EventRow) error {
	if m.tree == nil {
		if isLost, err := m.isLost(); err != nil || isLost {
			return cmp.Or(m.fail(err), follower.ErrLost)
		}
	}
	if err := m.open(ctx); err != nil {
		return m.fail(err)
	}
	m.tree.IsBulk = false
	for _, c := range changes.Collect(events) {
		if err := m.syncSession(ctx, c, nil); err != nil {
			return m.fail(err)
		}
	}
	return nil
}

// isLost reports whether the tree was removed while it was followed. Its cursor goes with it.
func (m *Mirror) isLost() (bool, error) {
	isOurs, err := readMarker(m.Dir, m.StoreID)
	if err != nil || !isOurs {
		return true, err
	}
	_, err = os.Stat(CursorFile(m.Dir))
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	return false, err
}

// Sync implements follower.Consumer.
func (m *Mirror) Sync(context.Context) error {
	if m.tree == nil {
		return nil
	}
	return m.fail(m.tree.Sync())
}

// noteDamage logs that a session cannot be read. Its files stay as they are.
func (m *Mirror) noteDamage(id session.ID, err error) {
	m.Logger.Warn("a damaged session is not mirrored", "session", id, "error", err)
}
