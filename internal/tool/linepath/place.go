package linepath

import (
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Place says where a command line runs.
type Place struct {
	Paths      workpath.Resolver
	Repository string // the directory of git if the worktree's lies outside of it; "" if not. Rules name it .git
	NoProject  bool   // the Location is no project: a file there that is changed counts as one outside
}

func joinPath(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// NameResource returns the text that permission rules match for a path.
func (at Place) NameResource(path string) string {
	if rel, ok := workpath.RelativeTo(at.Repository, path); ok && at.Repository != "" {
		return filepath.ToSlash(filepath.Join(".git", rel))
	}
	if found, err := at.Paths.Resolve(path); err == nil {
		return found.Resource()
	}
	return path
}

// NameLexically is NameResource for a path without symbolic links.
func (at Place) NameLexically(path string) string {
	for i, dir := range []string{at.Repository, at.Paths.Worktree, at.Paths.Directory} {
		rel, ok := workpath.RelativeTo(dir, path)
		if !ok || dir == "" || dir == filepath.Dir(dir) {
			continue
		}
		if i == 0 {
			rel = filepath.Join(".git", rel)
		}
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}
