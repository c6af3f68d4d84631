package builtin

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
)

// tree is a directory to search: a handle on the root that confines it, and where below that it starts. Names come
// from a fast walk by path, contents only through the handle.
type tree struct {
	root   *os.Root
	handle *os.File // the same directory
	dir    string   // the real path of root
	start  string   // relative to root, with slashes; "." is root
	hidden bool     // visit names that begin with a dot, too; .git never
}

// errEnough ends a walk without being an error.
var errEnough = errors.New("enough")

// grow opens the tree at the place. Outside, ignore files above the place do not count. The caller closes it.
func (p place) grow() (*tree, error) {
	dir, start := p.root, p.rel
	if !p.inside() {
		dir, start = p.real, "."
	}
	check, err := p.enterDir() // refuses what was moved since it was resolved
	if err != nil {
		return nil, err
	}
	_ = check.Close()
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, openFailure(dir, err)
	}
	handle, err := root.Open(".")
	if err != nil {
		return nil, closing(root, openFailure(dir, err))
	}
	return &tree{root: root, handle: handle, dir: dir, start: start}, nil
}

func (t *tree) close() {
	_ = t.handle.Close()
	_ = t.root.Close()
}

// rules returns the ignore rules that hold in the directory where the tree starts.
func (t *tree) rules() *ignore {
	rules := everywhere().with(t.root, ".")
	at := "."
	if t.start == "." {
		return rules
	}
	for name := range strings.SplitSeq(t.start, "/") {
		at = path.Join(at, name)
		rules = rules.with(t.root, at)
	}
	return rules
}

// walk visits every regular file that is not ignored, from several goroutines at once. rel is relative to start, with
// slashes. An error of visit ends the walk and is returned, errEnough as nil. Directories that cannot be read are left
// out.
func (t *tree) walk(ctx context.Context, visit func(rel string, e fs.DirEntry) error) error {
	top := filepath.Join(t.dir, filepath.FromSlash(t.start))
	var dirs sync.Map // the real path of a directory -> its *ignore
	dirs.Store(top, t.rules())
	err := fastwalk.Walk(&fastwalk.Config{}, top, func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil || name == top {
			return nil
		}
		up, ok := dirs.Load(filepath.Dir(name))
		rules, isRules := up.(*ignore)
		if !ok || !isRules {
			return nil
		}
		rel, _ := below(t.dir, name)
		rel = filepath.ToSlash(rel)
		if t.skips(rules, rel, e.IsDir()) {
			if e.IsDir() {
				return fastwalk.SkipDir
			}
			return nil
		}
		if e.IsDir() {
			dirs.Store(name, rules.with(t.root, rel))
			return nil
		}
		if !e.Type().IsRegular() {
			return nil
		}
		return visit(t.fromStart(rel), e)
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	return err
}

// skips reports whether what is called rel below the root is left out, by the rules of its directory.
func (t *tree) skips(rules *ignore, rel string, isDir bool) bool {
	name := path.Base(rel)
	return name == ".git" || !t.hidden && strings.HasPrefix(name, ".") || rules.ignores(rel, isDir)
}

// fromStart returns the name below the start of what is called rel below the root.
func (t *tree) fromStart(rel string) string {
	if t.start == "." {
		return rel
	}
	return strings.TrimPrefix(rel, t.start+"/")
}

// open opens a visited file through the handle, with its size. It follows no link out of the root and waits for no
// pipe.
func (t *tree) open(rel string) (*os.File, int64, error) {
	name := filepath.FromSlash(path.Join(t.start, rel))
	f, ok, err := openBeneath(t.handle, name)
	if !ok {
		f, err = t.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	}
	if err != nil {
		return nil, 0, err
	}
	return regular(f)
}

// regular returns f and its size, or closes what is not a regular file.
func regular(f *os.File) (*os.File, int64, error) {
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

// openPlain opens what is a regular file now.
func openPlain(root *os.Root, name string) (*os.File, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	f, _, err = regular(f)
	return f, err
}
