package jsontree

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// Tree is a tree of the newest form that is written to. Any number of processes may use one tree: a read holds a shared
// lock of the tree, a change an exclusive one, and a file is replaced as a whole, so that programs without the lock
// never see a part of a value. Nothing outside of the folder is read or written, also not through links in it.
//
// Changes are not synchronised with the disk until Sync: a power cut may lose those since the last one.
type Tree struct {
	root     *os.Root
	lock     string // path of the lock file
	unsynced unsynced

	// IsBulk tells Sync to sync the whole file system if many files wait, which is faster for them and slows others down.
	// It is not changed while other methods run.
	IsBulk bool
}

// Key names a value: the collection, then ids, such as {"message", SESSION, MESSAGE}.
type Key []string

// collections has the number of ids in the keys of each collection.
var collections = map[string]int{
	"project": 1, "session": 2, "message": 2, "part": 2, "session_diff": 1, "todo": 1, "share": 1,
}

const storageDir = "storage"

// OpenTree opens the tree in a data folder, which it creates if necessary. Call Migrate before using a tree that may
// have an older form.
func OpenTree(dir string) (*Tree, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	if err := root.MkdirAll(storageDir, 0o700); err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Tree{root: root, lock: filepath.Join(dir, storageDir, ".lock")}, nil
}

// Close releases the folder.
func (t *Tree) Close() error { return t.root.Close() }

// FileName returns a name for a file or folder of the id: the id itself if it is one that all file systems can store,
// else a digest of it.
func FileName(id string) string {
	if isFileName(id) {
		return id
	}
	return DigestPrefix + digest(id)
}

// DigestPrefix begins the names that FileName makes.
const DigestPrefix = "x-"

// maxName bounds the length of names, in bytes; with the extension it is far below the limits of file systems.
const maxName = 128

// isFileName reports whether the text can be a name: letters, digits, "_" and "-", and "." within.
func isFileName(name string) bool {
	for i, c := range []byte(name) {
		isPlain := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-'
		if !isPlain && (i == 0 || c != '.') {
			return false
		}
	}
	return name != "" && len(name) <= maxName && !strings.HasSuffix(name, ".")
}

// path returns the path of the value's file.
func (k Key) path() (string, error) {
	if len(k) == 0 || len(k) != collections[k[0]]+1 || collections[k[0]] == 0 {
		return "", fmt.Errorf("the key %q names no value", strings.Join(k, "/"))
	}
	for _, name := range k[1:] {
		if !isFileName(name) {
			return "", fmt.Errorf("the key %q has a part that cannot be the name of a file", strings.Join(k, "/"))
		}
	}
	return path.Join(storageDir, path.Join(k...)) + ".json", nil
}

// withLock runs f while no other process changes the tree or, if exclusive is set, uses it.
func (t *Tree) withLock(ctx context.Context, exclusive bool, f func() error) error {
	// The lock is opened by its path, so it must not be a link that leads out of the tree.
	if info, err := t.root.Lstat(path.Join(storageDir, ".lock")); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", t.lock)
	}
	take := statefile.LockShared
	if exclusive {
		take = statefile.Lock
	}
	unlock, err := take(ctx, t.lock)
	if err != nil {
		return err
	}
	defer unlock()
	return f()
}

// Change is a change of several values, which no other process sees in between if it holds the lock. Its methods are those
// of Tree.
type Change struct{ tree *Tree }

// Change runs f with the exclusive lock. What f has written before it fails stays.
func (t *Tree) Change(ctx context.Context, f func(Change) error) error {
	return t.withLock(ctx, true, func() error { return f(Change{t}) })
}

// Read returns the value's bytes; a missing one is fs.ErrNotExist.
func (t *Tree) Read(ctx context.Context, k Key) (v jsontext.Value, err error) {
	err = t.withLock(ctx, false, func() error {
		v, err = Change{t}.Read(k)
		return err
	})
	return v, err
}

// Read is Tree.Read.
func (c Change) Read(k Key) (jsontext.Value, error) {
	name, err := k.path()
	if err != nil {
		return nil, err
	}
	return c.tree.readFile(name)
}

// Write stores the value, and reports whether the file had to be changed.
func (t *Tree) Write(ctx context.Context, k Key, v any) (changed bool, err error) {
	err = t.Change(ctx, func(c Change) error {
		changed, err = c.Write(k, v)
		return err
	})
	return changed, err
}

// Write is Tree.Write.
func (c Change) Write(k Key, v any) (changed bool, err error) {
	name, err := k.path()
	if err != nil {
		return false, err
	}
	text, err := Encode(v)
	if err != nil {
		return false, fmt.Errorf("encode %s: %w", name, err)
	}
	// An equal file stays, so that a program that watches it sees changes only.
	if stored, err := c.tree.readFile(name); err == nil && bytes.Equal(stored, text) {
		return false, c.tree.noteUnsynced(name, false)
	}
	err = c.tree.replaceFile(name, text)
	if err != nil && c.tree.clearWay(name) {
		err = c.tree.replaceFile(name, text)
	}
	return err == nil, err
}

// Update replaces the value by what change returns for it, while nothing else changes the tree. A missing value is
// fs.ErrNotExist.
func (t *Tree) Update(ctx context.Context, k Key, change func(jsontext.Value) (any, error)) error {
	return t.Change(ctx, func(c Change) error {
		stored, err := c.Read(k)
		if err != nil {
			return err
		}
		v, err := change(stored)
		if err == nil {
			_, err = c.Write(k, v)
		}
		return err
	})
}

// Remove removes the value, if it exists, and its folder if it is empty then. It reports whether there was a value.
func (t *Tree) Remove(ctx context.Context, k Key) (removed bool, err error) {
	err = t.Change(ctx, func(c Change) error {
		removed, err = c.Remove(k)
		return err
	})
	return removed, err
}

// Remove is Tree.Remove.
func (c Change) Remove(k Key) (removed bool, err error) {
	name, err := k.path()
	if err != nil {
		return false, err
	}
	err = c.tree.root.Remove(name)
	if err != nil && c.tree.clearWay(name) {
		err = c.tree.root.Remove(name)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false, c.tree.noteUnsynced(name, true)
	}
	if err != nil {
		return false, err
	}
	if len(k) > 2 {
		_ = c.tree.root.Remove(path.Dir(name)) // fails if there are other files
	}
	return true, c.tree.noteUnsynced(name, true)
}

// noteUnsynced notes a change for Sync, and syncs if many wait.
func (t *Tree) noteUnsynced(name string, removed bool) error {
	if t.unsynced.note(name, removed) {
		return t.Sync()
	}
	return nil
}

// List returns the keys of the values below a prefix: a collection, or a collection with its first id. They are sorted.
// Files with names that are no keys, and folders in the place of values, are left out.
func (t *Tree) List(ctx context.Context, prefix ...string) (keys []Key, err error) {
	err = t.withLock(ctx, false, func() error {
		keys, err = Change{t}.List(prefix...)
		return err
	})
	return keys, err
}

// List is Tree.List.
func (c Change) List(prefix ...string) ([]Key, error) {
	depth := 0
	if len(prefix) > 0 {
		depth = collections[prefix[0]]
	}
	if depth == 0 || len(prefix) > depth {
		return nil, fmt.Errorf("the prefix %q names no collection", strings.Join(prefix, "/"))
	}
	for _, name := range prefix[1:] {
		if !isFileName(name) {
			return nil, fmt.Errorf("the prefix %q has a part that cannot be the name of a file", strings.Join(prefix, "/"))
		}
	}
	return c.tree.list(prefix, depth)
}

func (t *Tree) list(prefix Key, depth int) (keys []Key, err error) {
	entries, err := t.readDir(path.Join(storageDir, path.Join(prefix...)))
	for _, e := range entries {
		name, isJSON := strings.CutSuffix(e.Name(), ".json")
		isValue := len(prefix) == depth
		if !isFileName(name) || isValue != isJSON || isValue == e.IsDir() {
			continue
		}
		next := append(slices.Clone(prefix), name)
		if isValue {
			keys = append(keys, next)
			continue
		}
		below, err := t.list(next, depth)
		if err != nil {
			return nil, err
		}
		keys = append(keys, below...)
	}
	return keys, err
}

// ListFolders returns the folders of a collection, whose names are the first ids of its keys. They are sorted.
func (c Change) ListFolders(collection string) (names []string, err error) {
	entries, err := c.tree.readDir(path.Join(storageDir, collection))
	for _, e := range entries {
		if e.IsDir() && isFileName(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// FS returns the data folder for reading.
func (t *Tree) FS() fs.FS { return t.root.FS() }

// RemoveRest removes the file if it is one that a killed process left while it wrote, and reports whether it is.
func (c Change) RemoveRest(name string) (bool, error) {
	if !strings.HasPrefix(path.Base(name), tempPrefix) {
		return false, nil
	}
	return true, c.tree.root.Remove(name)
}

// Encode returns a value in the form of OpenCode's files.
func Encode(v any) ([]byte, error) {
	return json.Marshal(
		v, json.Deterministic(true), jsontext.Multiline(true), jsontext.WithIndent("  "), jsontext.AllowInvalidUTF8(true),
	)
}

// readDir returns the entries of a folder, sorted; none if it does not exist.
func (t *Tree) readDir(name string) ([]fs.DirEntry, error) { return listDir(t.root.FS(), name) }

// readFile reads a regular file.
func (t *Tree) readFile(name string) ([]byte, error) {
	// Only files are opened: that of a pipe may never end.
	f, err := t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("it is not a regular file")}
	case info.Size() > maxFile:
		return nil, &fs.PathError{Op: "read", Path: name, Err: fmt.Errorf("it is larger than %d MiB", maxFile>>20)}
	}
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// tempPrefix begins the names of files that are being written. A process that is killed leaves one.
const tempPrefix = ".cairn-write-"

// replaceFile writes a file and renames it into place.
func (t *Tree) replaceFile(name string, text []byte) error {
	dir := path.Dir(name)
	temp := path.Join(dir, tempPrefix+rand.Text())
	f, err := t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // the folder is new
		if err = t.root.MkdirAll(dir, 0o700); err == nil {
			f, err = t.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		}
	}
	if err != nil {
		return renameError(err, name)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = t.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(renameError(err, name), t.root.Remove(temp))
	}
	return t.noteUnsynced(name, false)
}

// renameError names the file that was to be written instead of the temporary one.
func renameError(err error, name string) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		err = e.Err
	}
	return &fs.PathError{Op: "write", Path: name, Err: err}
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
