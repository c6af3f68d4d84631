package exec

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/charlievieth/fastwalk"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/shell"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// errTooMany ends the listing of a directory that has more than maxBelow files.
var errTooMany = errors.New("too many files")

// maxBelow bounds how many files below a directory are held against the rules one by one.
const maxBelow = 100_000

// readTree is the directory as rules see what lies below it. It is looked at when it is asked for, once.
func (s *execTools) readTree(p workpath.Path, named shell.Path) permission.Tree {
	type found struct {
		files []string
		all   bool
	}
	look := sync.OnceValue(func() found {
		files, all := s.listFilesBelow(p, named.Only)
		return found{files, all}
	})
	return permission.Tree{
		Dir: p.Resource(), Maybe: named.Maybe, Files: func() ([]string, bool) { return look().files, look().all },
	}
}

// listFilesBelow are the resources of the files below the place whose names fit one of the patterns, if there are some,
// and of what links there lead to. It is false if they are more than maxBelow.
func (s *execTools) listFilesBelow(p workpath.Path, only []string) (files []string, all bool) {
	var mu sync.Mutex // guards files and seen
	seen := 0
	err := fastwalk.Walk(&fastwalk.Config{}, p.Real, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && name == p.Real {
			return nil //nolint:nilerr // what cannot be looked into is not read either
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen > maxBelow {
			return errTooMany
		}
		if e.IsDir() ||
			len(only) > 0 && !slices.ContainsFunc(only, func(o string) bool { return permission.Match(o, e.Name()) }) {
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

// linkTargets is what a link leads to.
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
