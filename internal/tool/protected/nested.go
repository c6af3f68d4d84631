package protected

import (
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/cairn-dev/cairn/internal/access/permission"
)

// Bounds of the search for protected names in a project. Directories near the top come first.
const (
	maxFolders     = 500
	maxNestedNames = 100
)

// NestedNames finds protected names below the top of a project. It remembers what directories contain and reads those
// again that changed, so a search costs one stat for each directory.
type NestedNames struct {
	seen atomic.Pointer[map[string]folder]
}

// folder is the recorded content of a directory.
type folder struct {
	state     any // see ChangeTime
	folders   []string
	protected []string
	isLinked  bool // it has a file .git
}

// skippedFolders contain the code of other projects, which is installed and removed as a whole.
var skippedFolders = map[string]bool{"node_modules": true, "vendor": true, "bower_components": true, "deps": true}

// ListPaths returns the protected paths that exist below the directories, except those directly in them: of a
// repository its settings and hooks.
func (n *NestedNames) ListPaths(tops, writable []string) []string {
	var p pathList
	for _, path := range n.find(tops) {
		if filepath.Base(path) == ".git" {
			p.addRepository(path)
		} else {
			p = append(p, path)
		}
	}
	return slices.DeleteFunc(p.filterBelow(writable), func(path string) bool {
		_, err := os.Lstat(path)
		return err != nil
	})
}

// ListUnlinked returns the directories that the last search read and that have no file .git.
func (n *NestedNames) ListUnlinked() (dirs []string) {
	if seen := n.seen.Load(); seen != nil {
		for dir, f := range *seen {
			if !f.isLinked {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

// find returns the protected names that exist below the directories, except those directly in them.
func (n *NestedNames) find(tops []string) (paths []string) {
	var before map[string]folder
	if seen := n.seen.Load(); seen != nil {
		before = *seen
	}
	seen := map[string]folder{}
	queue := slices.Clone(tops)
	for len(queue) > 0 && len(seen) < maxFolders && len(paths) < maxNestedNames {
		dir := queue[0]
		queue = queue[1:]
		if _, ok := seen[dir]; ok {
			continue
		}
		f := readFolder(dir, before[dir])
		if seen[dir] = f; len(seen) > len(tops) {
			paths = append(paths, f.protected...)
		}
		queue = append(queue, f.folders...)
	}
	n.seen.Store(&seen)
	return paths[:min(len(paths), maxNestedNames)]
}

// readFolder returns what a directory contains. before is what it contained earlier.
func readFolder(dir string, before folder) folder {
	info, err := os.Stat(dir)
	if err != nil {
		return folder{}
	}
	f := folder{state: ChangeTime(info)}
	if f.state == before.state {
		return before
	}
	if time.Since(info.ModTime()) < time.Second { // it may change again without a new time
		f.state = nil
	}
	entries, _ := os.ReadDir(dir) // what cannot be listed cannot be changed
	for _, e := range entries {
		switch name := e.Name(); {
		case !utf8.ValidString(name): // it cannot be passed on as JSON
		case name == ".git" && !e.IsDir():
			f.isLinked = true
			f.protected = append(f.protected, filepath.Join(dir, name))
		case permission.ProtectedName(name) != "":
			f.protected = append(f.protected, filepath.Join(dir, name))
		case e.IsDir() && !skippedFolders[name]:
			f.folders = append(f.folders, filepath.Join(dir, name))
		}
	}
	return f
}
