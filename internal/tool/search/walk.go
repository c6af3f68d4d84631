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

// searchFiles is a directory to search: a handle on the root that confines it, and where below that it starts. Names
// come from a fast walk by path, contents only through the handle.
type searchTree struct {
	root   *os.Root
	handle *os.File // the same directory
	dir    string   // the real path of root
	start  string   // relative to root, with slashes; "." is root
	hidden bool     // visit names that begin with a dot, too; .git never
}

// errLimit ends a walk without being an error.
var errLimit = errors.New("enough")

// openTree opens the tree at the place. Outside, ignore files above the place do not count. The caller closes it.
func openTree(p workpath.Path) (*searchTree, error) {
	dir, start := p.Root, p.Rel
	if !p.IsInside() {
		dir, start = p.Real, "."
	}
	check, err := p.OpenDir() // refuses what was moved since it was resolved
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
	return &searchTree{root: root, handle: handle, dir: dir, start: start}, nil
}

func (t *searchTree) closeHandles() {
	_ = t.handle.Close()
	_ = t.root.Close()
}

// startRules returns the ignore rules that hold in the directory where the tree starts.
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

// walkFiles visits every regular file that is not ignored, from several goroutines at once. rel is relative to start,
// with slashes. An error of visit ends the walk and is returned, errLimit as nil. Directories that cannot be read are
// left out.
func (t *searchTree) walkFiles(ctx context.Context, visit func(rel string, e fs.DirEntry) error) error {
	top := filepath.Join(t.dir, filepath.FromSlash(t.start))
	var dirs sync.Map // the real path of a directory -> its *ignore
	dirs.Store(top, t.startRules())
	err := fastwalk.Walk(&fastwalk.Config{}, top, func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || name == top {
			return nil
		}
		up, ok := dirs.Load(filepath.Dir(name))
		rules, isRules := up.(*ignoreRules)
		if !ok || !isRules {
			return nil
		}
		rel, _ := workpath.Within(t.dir, name)
		rel = filepath.ToSlash(rel)
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

// isSkipped reports whether what is called rel below the root is left out, by the rules of its directory.
func (t *searchTree) isSkipped(rules *ignoreRules, rel string, isDir bool) bool {
	name := path.Base(rel)
	return name == ".git" || !t.hidden && strings.HasPrefix(name, ".") || rules.isIgnored(rel, isDir)
}

// relativeToStart returns the name below the start of what is called rel below the root.
func (t *searchTree) relativeToStart(rel string) string {
	if t.start == "." {
		return rel
	}
	return strings.TrimPrefix(rel, t.start+"/")
}

// openFile opens a visited file through the handle, with its size. It follows no link out of the root and waits for no
// pipe.
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

// statRegular returns f and its size, or closes what is not a regular file.
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

// openRegularFile opens what is a regular file now.
func openRegularFile(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f, _, err = statRegular(f)
	return f, err
}
