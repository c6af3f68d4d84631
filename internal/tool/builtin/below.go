package builtin

import (
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/charlievieth/fastwalk"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/shell"
)

// maxBelow bounds how many files below a directory are held against the rules one by one.
const maxBelow = 100_000

// treeBelow is the directory as rules see what lies below it. It is looked at when it is asked for, once.
func (s *site) treeBelow(p place, named shell.Path) permission.Tree {
	type found struct {
		files []string
		all   bool
	}
	look := sync.OnceValue(func() found {
		files, all := s.filesBelow(p, named.Only)
		return found{files, all}
	})
	return permission.Tree{Dir: p.resource(), Maybe: named.Maybe, Files: func() ([]string, bool) { return look().files, look().all }}
}

// filesBelow are the resources of the files below the place whose names fit one of the patterns, if there are some, and of
// what links there lead to. It is false if they are more
// than maxBelow.
func (s *site) filesBelow(p place, only []string) (files []string, all bool) {
	var mu sync.Mutex // guards files and seen
	seen := 0
	err := fastwalk.Walk(&fastwalk.Config{}, p.real, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && name == p.real {
			return nil //nolint:nilerr // what cannot be looked into is not read either
		}
		mu.Lock()
		defer mu.Unlock()
		if seen++; seen > maxBelow {
			return errEnough
		}
		if e.IsDir() || len(only) > 0 && !slices.ContainsFunc(only, func(o string) bool { return permission.Match(o, e.Name()) }) {
			return nil
		}
		rel, _ := below(p.real, name)
		files = append(files, p.below(filepath.ToSlash(rel)).resource())
		if e.Type()&fs.ModeSymlink != 0 {
			files = append(files, s.linked(name)...)
		}
		return nil
	})
	return files, err == nil
}

// linked is what a link leads to.
func (s *site) linked(name string) []string {
	p, err := s.locate(name)
	switch {
	case err != nil || p.info == nil:
		return nil
	case p.isDir():
		return []string{p.resource() + "/*"}
	default:
		return []string{p.resource()}
	}
}
