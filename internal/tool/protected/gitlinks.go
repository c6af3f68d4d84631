package protected

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
)

// Bounds of what is examined below a repository.
const (
	maxEntries     = 1000 // linked worktrees, or submodules in one folder
	maxModuleParts = 6    // of the name of a submodule
)

// gitLinks finds files that lead git to settings and hooks elsewhere.
type gitLinks struct {
	Config
	existed func(path string) bool // before the command
}

// findForged returns those that appeared since the guard was made: in the folders of linked worktrees and submodules,
// and files .git in Folders. Those that git itself writes for a worktree or a submodule of Repositories are not among
// them.
func (g gitLinks) findForged() (found []string) {
	for _, repository := range g.Repositories {
		for _, name := range listFolders(filepath.Join(repository, "worktrees"), maxEntries) {
			found = append(found, g.findForgedWorktree(repository, filepath.Join(repository, "worktrees", name))...)
		}
		found = append(found, g.findForgedModules(filepath.Join(repository, "modules"), maxModuleParts)...)
	}
	for _, dir := range g.Folders {
		git := filepath.Join(dir, ".git")
		switch info, err := os.Lstat(git); {
		case err != nil:
		case info.IsDir():
			found = append(found, g.listNew(git, "commondir")...)
		case !g.isOwnLink(dir):
			found = append(found, git)
		}
	}
	return slices.Compact(found)
}

// findForgedWorktree returns the files in the folder of a linked worktree that are not as git writes them.
func (g gitLinks) findForgedWorktree(repository, folder string) (found []string) {
	for _, path := range g.listNew(folder, "commondir") {
		if line, _ := checkout.FirstLine(path); !isSame(checkout.MakeAbsolute(line, folder), repository) {
			found = append(found, path)
		}
	}
	for _, path := range g.listNew(folder, "gitdir") {
		line, _ := checkout.FirstLine(path)
		link := checkout.MakeAbsolute(line, folder)
		back, isFile := checkout.FirstLine(link)
		back, isLink := strings.CutPrefix(back, "gitdir: ")
		if isFile && (!isLink || !isSame(checkout.MakeAbsolute(back, filepath.Dir(link)), folder)) {
			found = append(found, path)
		}
	}
	for _, path := range g.listNew(folder, "config.worktree") {
		if checkout.ReadStart(path) != checkout.ReadStart(filepath.Join(repository, "config.worktree")) {
			found = append(found, path)
		}
	}
	return found
}

// findForgedModules returns the files commondir of new submodules below a folder, which git does not write.
func (g gitLinks) findForgedModules(dir string, depth int) (found []string) {
	if depth == 0 {
		return nil
	}
	for _, name := range listFolders(dir, maxEntries) {
		path := filepath.Join(dir, name)
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil {
			found = append(found, g.findForgedModules(path, depth-1)...)
			continue
		}
		found = append(found, g.listNew(path, "commondir")...)
		found = append(found, g.findForgedModules(filepath.Join(path, "modules"), depth-1)...)
	}
	return found
}

// listNew returns the path of a file, if it exists and did not when the guard was made.
func (g gitLinks) listNew(dir, name string) []string {
	path := filepath.Join(dir, name)
	if _, err := os.Lstat(path); err != nil || g.existed(path) {
		return nil
	}
	return []string{path}
}

// isOwnLink reports whether a file .git names the folder of a worktree or a submodule of Repositories, which names it
// in return. A command can make such a folder, so that of a submodule must have existed before, unless new ones are
// permitted.
func (g gitLinks) isOwnLink(dir string) bool {
	if info, err := os.Lstat(filepath.Join(dir, ".git")); err != nil || info.Mode()&fs.ModeSymlink != 0 {
		return false
	}
	found, ok := checkout.Find(dir)
	if !ok || found.Top != dir {
		return false
	}
	linked := found.FindLinkedRepository()
	isKnown := g.NewSubmodules || g.existed(filepath.Join(linked, "config"))
	return slices.ContainsFunc(g.Repositories, func(repository string) bool {
		rel, err := filepath.Rel(filepath.Join(repository, "modules"), linked)
		isModule := err == nil && rel != "." && filepath.IsLocal(rel) && isKnown
		return linked != "" && (isSame(repository, linked) || isModule)
	})
}

// isSame reports whether two paths name one file or directory.
func isSame(a, b string) bool {
	x, err := os.Stat(a)
	y, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// listFolders returns the names of at most n directories in a directory, of those among its first entries.
func listFolders(dir string, n int) (names []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }()
	entries, _ := f.ReadDir(maxEntries)
	for _, e := range entries {
		if e.IsDir() && len(names) < n {
			names = append(names, e.Name())
		}
	}
	return names
}
