package snapshot

import (
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // names a list of files
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"github.com/git-pkgs/gitignore"
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/statefile"
)

// The bounds of a directory that is captured without git.
const (
	maxFiles    = 20_000           // unless Options say otherwise
	maxTotal    = 512 << 20        // bytes
	captureTime = 5 * time.Second  // for one capture
	retryTime   = 10 * time.Minute // until a directory that was too large is captured again
	maxCaptures = 8                // that can be compared
	maxList     = 64 << 20         // bytes of the list of files
)

// skippedDirs are the names of directories whose files are not written by users.
var skippedDirs = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// dirTree captures a directory without git: all contents are stored in Blobs. A list of the files with their metadata,
// which lasts, lets the next capture read only what changed.
type dirTree struct {
	options Options
	root    string

	files    map[string]listedFile            // as of the newest capture; nil before the first one
	trees    map[string]map[string]listedFile // the captures that can be compared, by name
	order    []string                         // of trees, oldest first
	tooLarge time.Time                        // when the directory was too large; zero if never
	tight    *permissions
}

// findTight implements capturer.
func (d *dirTree) findTight(name string, ended time.Time) uint32 { return d.tight.find(name, ended) }

// listedFile is a file of a capture.
type listedFile struct {
	State   session.PathState `json:"state"`
	Size    int64             `json:"size"`
	ModTime int64             `json:"modTime"` // nanoseconds
	Changed int64             `json:"changed"` // nanoseconds: when its content or metadata changed last
}

// captureTree implements capturer. A directory that is too large is ErrTooLarge; for retryTime it is not
// read again.
func (d *dirTree) captureTree(ctx context.Context) (name string, omitted omittedFiles, err error) {
	// Refuse a directory that contains the user's home, and one that was too large a short while ago.
	if home, err := os.UserHomeDir(); err == nil && isWithin(home, d.root) {
		return "", nil, fmt.Errorf("the directory is %w: it contains the home directory", ErrTooLarge)
	}
	if time.Since(d.tooLarge) < retryTime {
		return "", nil, fmt.Errorf("the directory is %w", ErrTooLarge)
	}
	// Continue from the list of an earlier process.
	if d.files == nil {
		d.files = d.readList()
	}
	// Walk within a time limit. A directory that takes too long counts as too large, too.
	ctx, cancel := context.WithTimeoutCause(ctx, captureTime, fmt.Errorf("the directory is %w", ErrTooLarge))
	defer cancel()
	found, omitted, err := d.walk(ctx)
	if errors.Is(err, ErrTooLarge) {
		d.tooLarge = time.Now()
	}
	if err != nil {
		return "", nil, err
	}
	// Keep the tree under the name of its contents, and the list for the next process if it changed.
	changed := !maps.Equal(d.files, found)
	d.files = found
	name = nameTree(found)
	if _, known := d.trees[name]; !known {
		d.addTree(name, found)
	}
	if changed {
		d.writeList()
	}
	return name, omitted, nil
}

// isWithin reports whether a path is the directory or below it.
func isWithin(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// addTree makes a capture one of those that can be compared, in place of the oldest one.
func (d *dirTree) addTree(name string, files map[string]listedFile) {
	if d.trees == nil {
		d.trees = map[string]map[string]listedFile{}
	}
	if len(d.order) == maxCaptures {
		delete(d.trees, d.order[0])
		d.order = d.order[1:]
	}
	d.trees[name] = files
	d.order = append(d.order, name)
}

func nameTree(files map[string]listedFile) string {
	h := sha1.New() //nolint:gosec // see above
	for _, name := range slices.Sorted(maps.Keys(files)) {
		_, _ = fmt.Fprintf(h, "%o %s %s\x00", files[name].State.Mode, files[name].State.Blob, name)
	}
	return hex.EncodeToString(h.Sum(nil))
}

func (d *dirTree) listFile() string { return filepath.Join(d.options.Dir, "files.json") }

// readList returns the stored list. An empty list, if none can be read, makes the next capture read every file.
func (d *dirTree) readList() map[string]listedFile {
	files := map[string]listedFile{}
	raw, err := statefile.Read(d.listFile(), maxList)
	if err == nil && json.Unmarshal(raw, &files) != nil {
		files = map[string]listedFile{}
	}
	return files
}

// writeList stores the list. A failure is logged only: the next process reads every file.
func (d *dirTree) writeList() {
	raw, err := json.Marshal(d.files)
	if err == nil {
		err = os.MkdirAll(d.options.Dir, 0o700)
	}
	if err == nil {
		err = statefile.Replace(d.listFile(), raw, 0o600)
	}
	if err != nil {
		d.options.Logger.Debug("cannot store the list of a worktree's files; the next process reads them all", "error", err)
	}
}

// walk returns the files of the directory and stores their contents. Large and unreadable files are omitted.
func (d *dirTree) walk(ctx context.Context) (map[string]listedFile, omittedFiles, error) {
	root, err := os.OpenRoot(d.root)
	if err != nil {
		return nil, nil, err
	}
	defer root.Close()
	// Find the files, then store what changed. began tells which times are too recent to be trusted.
	w := &dirWalk{options: d.options, root: root, rules: gitignore.New(""), omitted: omittedFiles{}}
	began := time.Now()
	if err := w.visit(ctx, cmp.Or(filepath.ToSlash(d.options.Scope), ".")); err != nil {
		return nil, nil, err
	}
	found := make(map[string]listedFile, len(w.files))
	for _, c := range w.files {
		if ctx.Err() != nil {
			return nil, nil, context.Cause(ctx)
		}
		f, err := d.captureFile(root, c.name, c.info, began)
		switch {
		case err == nil:
			found[c.name] = f
		case isUnreadable(err):
			w.omitted.add(c.name, c.info)
		default:
			return nil, nil, err
		}
	}
	return found, w.omitted, nil
}

// dirWalk is one walk of a directory.
type dirWalk struct {
	options Options
	root    *os.Root
	rules   *gitignore.Matcher
	files   []walkedFile
	total   int64 // bytes
	omitted omittedFiles
}

// walkedFile is a file that is captured.
type walkedFile struct {
	name string
	info fs.FileInfo
}

// visit finds the files below a directory. A directory that is gone or cannot be read counts as empty.
func (w *dirWalk) visit(ctx context.Context, dir string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	// Read through the root, and close before descending: depth must not cost descriptors.
	f, err := w.root.Open(dir)
	if err != nil {
		return nil
	}
	entries, err := f.ReadDir(-1)
	_ = f.Close()
	if err != nil {
		return nil
	}
	// The rules of a directory hold below it, so they are added before its entries are tested.
	if raw, err := w.root.ReadFile(path.Join(dir, ".gitignore")); err == nil {
		w.rules.AddPatterns(raw, patternRoot(dir))
	}
	// Ignored files are left out; directories are visited; files and links are captured; anything else has no
	// content.
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case w.rules.MatchPath(name, e.IsDir()):
		case e.IsDir() && !skippedDirs[e.Name()]:
			err = w.visit(ctx, name)
		case e.Type().IsRegular() || e.Type()&fs.ModeSymlink != 0:
			err = w.addFile(name, e)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// patternRoot returns the directory in the form of the rules, in which the tree itself is "".
func patternRoot(dir string) string {
	if dir == "." {
		return ""
	}
	return dir
}

// addFile adds a file to those that are captured or, if it is too large, to those that are omitted. More or larger
// files than a capture can have are ErrTooLarge.
func (w *dirWalk) addFile(name string, e fs.DirEntry) error {
	if isTemporary(name) {
		return nil
	}
	info, err := e.Info()
	if err != nil {
		return nil
	}
	if info.Size() > maxUntracked {
		w.omitted.add(name, info)
		return nil
	}
	most := cmp.Or(w.options.MaxFiles, maxFiles)
	if w.total += info.Size(); len(w.files) == most || w.total > maxTotal {
		return fmt.Errorf("the directory is %w: more than %d files or %d MiB", ErrTooLarge, most, maxTotal>>20)
	}
	w.files = append(w.files, walkedFile{name, info})
	return nil
}

// isUnreadable reports whether the error is that of a file which vanished, changes, or must not be read. The file
// system's other errors end a capture.
func isUnreadable(err error) bool {
	var full *fs.PathError
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || !errors.As(err, &full)
}

// captureFile stores a file, unless the list shows that it is unchanged. A file that was changed just now can change
// again within the same file time, so the list makes the next capture read it again.
func (d *dirTree) captureFile(
	root *os.Root, name string, info fs.FileInfo, began time.Time,
) (f listedFile, err error) {
	d.tight.noteFile(name, info)
	f = listedFile{Size: info.Size(), ModTime: info.ModTime().UnixNano(), Changed: changeTime(info)}
	known, ok := d.files[name]
	mode := session.ModeLink
	if info.Mode().IsRegular() {
		mode = modeOf(info)
	}
	isSame := known.Size == f.Size && known.ModTime == f.ModTime && known.Changed == f.Changed
	if ok && isSame && known.State.Mode == mode &&
		d.options.Blobs.refreshUse(known.State.Blob) {
		return known, nil
	}
	if f.State, err = saveFile(root, d.options.Blobs, name); err != nil {
		return f, err
	}
	if info.ModTime().After(began.Add(-fileTimeStep)) {
		f.ModTime = 0
	}
	return f, nil
}

// compare implements capturer.
func (d *dirTree) compare(_ context.Context, from, to string, limit int) ([]session.FileChange, error) {
	before, known := d.trees[from]
	after, alsoKnown := d.trees[to]
	if !known || !alsoKnown {
		return nil, errNoCapture
	}
	var out []session.FileChange
	for name, f := range before {
		if after[name].State != f.State {
			out = append(out, session.FileChange{Path: session.FilePath(name), Before: f.State, After: after[name].State})
		}
	}
	for name, f := range after {
		if _, existed := before[name]; !existed {
			out = append(out, session.FileChange{Path: session.FilePath(name), After: f.State})
		}
	}
	if len(out) > limit {
		return nil, fmt.Errorf("more than %d files were changed", limit)
	}
	slices.SortFunc(out, func(x, y session.FileChange) int { return cmp.Compare(x.Path, y.Path) })
	return out, nil
}
