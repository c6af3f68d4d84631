package exec

import (
	"errors"
	"io/fs"
	"path/filepath"
	"sync"

	"github.com/charlievieth/fastwalk"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// errTooMany ends the listing of a directory that has more than maxBelow files.
var errTooMany = errors.New("too many files")

// maxBelow bounds the files below a directory that are matched against the rules one by one.
const maxBelow = 100_000

// readTree returns the directory for rules about the files below it. The files are listed at most once, when a rule
// needs them.
func (s *execTools) readTree(p workpath.Path) permission.Tree {
	type found struct {
		files []string
		all   bool
	}
	look := sync.OnceValue(func() found {
		files, all := s.listFilesBelow(p)
		return found{files, all}
	})
	return permission.Tree{Dir: p.Resource(), Files: func() ([]string, bool) { return look().files, look().all }}
}

// listFilesBelow returns the resources of the files below p, and of the targets of links there. all is false if there
// are more than maxBelow files.
func (s *execTools) listFilesBelow(p workpath.Path) (files []string, all bool) {
	var mu sync.Mutex // guards files and seen
	seen := 0
	err := fastwalk.Walk(&fastwalk.Config{}, p.Real, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && name == p.Real {
			return nil //nolint:nilerr // an unreadable directory is not read by the command either
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen > maxBelow {
			return errTooMany
		}
		if e.IsDir() {
			return nil
		}
		rel, _ := workpath.Within(p.Real, name)
		files = append(files, p.Join(filepath.ToSlash(rel)).Resource())
		if e.Type()&fs.ModeSymlink != 0 {
			files = append(files, s.linkTargets(name)...)
		}
		return nil
	})
	return files, err == nil
}

// linkTargets returns the resources that a link leads to.
func (s *execTools) linkTargets(name string) []string {
	p, err := s.config.Paths.Resolve(name)
	switch {
	case err != nil || p.Info == nil:
		return nil
	case p.IsDir():
		return []string{p.Resource() + "/*"}
	default:
		return []string{p.Resource()}
	}
}
