package workpath

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/charlievieth/fastwalk"
)

// errTooMany ends the listing of a directory that has more than maxTreeFiles files.
var errTooMany = errors.New("too many files")

// maxTreeFiles bounds the files of a FileTree.
const maxTreeFiles = 100_000

// FileTree is the files below a directory as permission rules name them.
type FileTree struct {
	Files    []string // resources of the files, and of the targets of links
	Outside  []string // patterns of the directories outside of the Location to which links lead
	Complete bool     // Files and Outside list everything
	Within   bool     // links to directories lead outside or below the directory
}

// ListTree returns the files below a directory.
func (r Resolver) ListTree(dir Path) FileTree {
	var mu sync.Mutex // guards t and seen
	t, seen := FileTree{Within: true}, 0
	err := fastwalk.Walk(&fastwalk.Config{}, dir.Real, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && name == dir.Real {
			return nil //nolint:nilerr // an unreadable directory is not read by a command either
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen > maxTreeFiles {
			return errTooMany
		}
		if e.IsDir() {
			return nil
		}
		rel, _ := RelativeTo(dir.Real, name)
		t.Files = append(t.Files, dir.Join(filepath.ToSlash(rel)).Resource())
		if e.Type()&fs.ModeSymlink != 0 {
			t.addTarget(r, dir, name)
		}
		return nil
	})
	t.Complete = err == nil
	return t
}

// addTarget adds what a link below dir leads to.
func (t *FileTree) addTarget(r Resolver, dir Path, name string) {
	p, err := r.Resolve(name)
	if err != nil || p.Info == nil {
		return
	}
	resource := p.Resource()
	if p.IsDir() {
		resource += "/*"
		_, below := RelativeTo(dir.Real, p.Real)
		t.Within = t.Within && (below || !p.IsInside())
	}
	t.Files = append(t.Files, resource)
	if outside := p.Dir() + "/*"; !p.IsInside() && !slices.Contains(t.Outside, outside) {
		t.Outside = append(t.Outside, outside)
	}
}
