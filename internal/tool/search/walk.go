package search

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/charlievieth/fastwalk"

	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// searchTree is a directory to search. Names come from a parallel walk by path; files are opened beneath root.
type searchTree struct {
	root   *os.Root
	handle *os.File // the same directory
	dir    string   // the real path of root
	start  string   // relative to root, with slashes; "." is root
	hidden bool     // include names that begin with a dot; .git never is
	at     workpath.Path
}

// errLimit ends a walk without an error.
var errLimit = errors.New("enough")

// openTree opens the directory p. Outside of the Location, ignore files above p do not count. The caller closes the
// tree.
func openTree(p workpath.Path) (*searchTree, error) {
	dir, start := p.Root, p.Rel
	if !p.IsInside() {
		dir, start = p.Real, "."
	}
	check, err := p.OpenDir() // fails if the path changed since it was resolved
	if err != nil {
		return nil, err
	}
	_ = check.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, workpath.FailOpen(dir, err)
	}
	handle, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, workpath.FailOpen(dir, err)
	}
	return &searchTree{root: root, handle: handle, dir: dir, start: start, at: p}, nil
}

func (t *searchTree) closeHandles() {
	_ = t.handle.Close()
	_ = t.root.Close()
}

// startRules returns the ignore rules of the start directory.
func (t *searchTree) startRules() *ignoreRules {
	rules := readUserRules().addDir(t.root, ".")
	at := "."
	if t.start == "." {
		return rules
	}
	for name := range strings.SplitSeq(t.start, "/") {
		at = path.Join(at, name)
		rules = rules.addDir(t.root, at)
	}
	return rules
}

// walkFiles calls visit for each regular file that is not ignored, from several goroutines. rel is relative to start,
// with slashes. An error of visit ends the walk and is returned; errLimit is returned as nil. Unreadable directories
// are skipped.
func (t *searchTree) walkFiles(ctx context.Context, visit func(rel string, e fs.DirEntry) error) error {
	// A directory's rules are stored before its entries are visited, maybe by another goroutine.
	top := filepath.Join(t.dir, filepath.FromSlash(t.start))
	var dirs sync.Map // real path of a directory -> its *ignoreRules
	dirs.Store(top, t.startRules())
	err := fastwalk.Walk(&fastwalk.Config{}, top, func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || name == top {
			return nil
		}
		// The rules of the parent apply. Without them, the entry is left out.
		up, ok := dirs.Load(filepath.Dir(name))
		rules, isRules := up.(*ignoreRules)
		if !ok || !isRules {
			return nil
		}
		rel, _ := workpath.RelativeTo(t.dir, name)
		rel = filepath.ToSlash(rel)
		// Skip what is ignored, note the rules of directories, and visit regular files.
		if t.isSkipped(rules, rel, e.IsDir()) {
			if e.IsDir() {
				return fastwalk.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			dirs.Store(name, rules.addDir(t.root, rel))
			return nil
		}
		if !e.Type().IsRegular() {
			return nil
		}
		return visit(t.relativeToStart(rel), e)
	})
	if errors.Is(err, errLimit) {
		return nil
	}
	return err
}

// isSkipped reports whether the entry rel, relative to root, is left out by the rules of its directory.
func (t *searchTree) isSkipped(rules *ignoreRules, rel string, isDir bool) bool {
	name := path.Base(rel)
	return name == ".git" || !t.hidden && strings.HasPrefix(name, ".") || rules.isIgnored(rel, isDir) ||
		isDir && t.at.IsPrivateEntry(filepath.Join(t.dir, filepath.FromSlash(rel)))
}

// relativeToStart turns a path relative to root into one relative to start.
func (t *searchTree) relativeToStart(rel string) string {
	if t.start == "." {
		return rel
	}
	return strings.TrimPrefix(rel, t.start+"/")
}

// openFile opens a file and returns its size. It follows no link out of root and does not block on a pipe.
func (t *searchTree) openFile(rel string) (*os.File, int64, error) {
	name := filepath.FromSlash(path.Join(t.start, rel))
	f, ok, err := openBeneath(t.handle, name)
	if !ok {
		f, err = t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, 0, err
	}
	return statRegular(f)
}

// statRegular returns f and its size. It closes f unless it is a regular file.
func statRegular(f *os.File) (*os.File, int64, error) {
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = tool.Failf("%s is not a regular file.", f.Name())
	}
	if err != nil {
		_ = f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// openRegularFile opens name, and fails unless it is a regular file.
func openRegularFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f, _, err = statRegular(f)
	return f, err
}
