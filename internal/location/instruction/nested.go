package instruction

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// maxVisited bounds the paths of one call whose directories are searched.
const maxVisited = 256

// FindNested returns the instruction files in the directories from below the location down to the paths, which are
// canonical, outermost first. The first existing name of a directory is used.
func (o Options) FindNested(paths []string) (found []session.NestedInstruction) {
	searched := map[string]bool{}
	for _, path := range paths[:min(len(paths), maxVisited)] {
		for _, dir := range o.directoriesAbove(path) {
			if searched[dir] {
				continue
			}
			searched[dir] = true
			for _, name := range o.FileNames() {
				c := candidate{path: filepath.Join(dir, name)}
				if _, exists, err := findFile(c); exists || err != nil {
					found = append(found, session.NestedInstruction{Path: c.path, Root: o.Directory})
					break
				}
			}
		}
	}
	slices.SortFunc(found, func(a, b session.NestedInstruction) int { return strings.Compare(a.Path, b.Path) })
	return found
}

// directoriesAbove returns the path, which may be a directory, and the directories above it, below the location.
func (o Options) directoriesAbove(path string) (dirs []string) {
	rel, err := filepath.Rel(o.Directory, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for ; rel != "." && len(dirs) < maxAncestors; rel = filepath.Dir(rel) {
		dirs = append(dirs, filepath.Join(o.Directory, rel))
	}
	return dirs
}

// NestedContext returns the source of the files that a session has discovered and that are still below the project. It
// is empty if none exists.
func (o Options) NestedContext(ctx context.Context, files []session.NestedInstruction) systemcontext.Context {
	chain := o.directoryChain()
	var groups [][]candidate
	for _, n := range files {
		rel, err := filepath.Rel(o.projectRoot(), n.Path)
		if err == nil && filepath.IsLocal(rel) && !slices.Contains(chain, filepath.Dir(n.Path)) && !o.DisableProject {
			groups = append(groups, []candidate{{path: n.Path, root: o.projectRoot()}})
		}
	}
	if len(groups) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, systemcontext.LoadLimit)
	defer cancel()
	return o.newProducer(KeyNested, func() [][]candidate { return groups })(ctx)
}
