package protected

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/checkout"
)

// Bounds of the repositories whose settings are protected.
const (
	maxNested     = 200 // directories in which a nested repository is looked for
	maxSubmodules = 100
	maxWorktrees  = 100
)

// ListPaths returns the protected paths below the directories that commands may write to, whether they exist
// or not: those of the project's directories, of their repositories, of repositories and submodules directly below, and
// start-up files in the user's home.
//
// A repository that a command makes is not protected before the next command, so that git init and git clone work.
func ListPaths(dirs, writable []string, home string) []string {
	var p pathList
	for _, dir := range dirs {
		p = append(p, permission.ProtectedPaths(dir, "")...)
		p.addRepository(filepath.Join(dir, ".git"))
		p.addNested(dir)
		p = append(p, listSettingTargets(dir, dirs, home)...)
	}
	startup := permission.ProtectedPaths(home, home)
	p = append(p, startup...)
	return p.filterBelow(writable)
}

// filterBelow returns the sorted paths below the directories.
func (p pathList) filterBelow(dirs []string) []string {
	p = slices.DeleteFunc(p, func(path string) bool {
		return !slices.ContainsFunc(dirs, func(dir string) bool { return isStrictlyBelow(dir, path) })
	})
	slices.Sort(p)
	return slices.Compact(p)
}

// isStrictlyBelow reports whether path is below dir.
func isStrictlyBelow(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

// pathList collects paths.
type pathList []string

// addRepository adds what makes git run programs, of a folder or a file named .git. A missing one adds nothing.
func (p *pathList) addRepository(git string) {
	info, err := os.Stat(git)
	if err != nil {
		return
	}
	if !info.IsDir() { // a linked worktree or a submodule
		*p = append(*p, git)
		dir, ok := strings.CutPrefix(readStart(git), "gitdir: ")
		if !ok {
			return
		}
		git = checkout.MakeAbsolute(dir, filepath.Dir(git))
	}
	p.addFolder(git)
	if common := readStart(filepath.Join(git, "commondir")); common != "" {
		p.addFolder(checkout.MakeAbsolute(common, git))
	}
}

// addFolder adds the settings and hooks of a repository, of its linked worktrees and of its submodules. A folder with a
// file commondir takes its settings from elsewhere.
func (p *pathList) addFolder(git string) {
	for _, name := range []string{"config", "config.worktree", "commondir", "hooks"} {
		*p = append(*p, filepath.Join(git, name))
	}
	for _, name := range listFolders(filepath.Join(git, "worktrees"), maxWorktrees) {
		for _, file := range []string{"commondir", "gitdir", "config.worktree"} {
			*p = append(*p, filepath.Join(git, "worktrees", name, file))
		}
	}
	left := maxSubmodules
	p.addModules(filepath.Join(git, "modules"), maxModuleParts, &left)
}

// addModules adds the repositories of submodules below a folder. A name may have several parts.
func (p *pathList) addModules(dir string, depth int, left *int) {
	if depth == 0 {
		return
	}
	for _, name := range listFolders(dir, *left) {
		path := filepath.Join(dir, name)
		if *left--; *left < 0 {
			return
		}
		if _, err := os.Lstat(filepath.Join(path, "HEAD")); err != nil {
			p.addModules(path, depth-1, left)
			continue
		}
		for _, file := range []string{"config", "config.worktree", "commondir", "hooks"} {
			*p = append(*p, filepath.Join(path, file))
		}
		p.addModules(filepath.Join(path, "modules"), depth-1, left)
	}
}

// addNested adds the repositories in the folders of a directory, and the places of its submodules.
func (p *pathList) addNested(top string) {
	for _, name := range listFolders(top, maxNested) {
		if name != ".git" {
			p.addRepository(filepath.Join(top, name, ".git"))
		}
	}
	for line := range strings.Lines(readStart(filepath.Join(top, ".gitmodules"))) {
		key, value, _ := strings.Cut(line, "=")
		if path := strings.TrimSpace(value); strings.TrimSpace(key) == "path" && filepath.IsLocal(path) {
			p.addRepository(filepath.Join(top, path, ".git"))
		}
	}
}

// listSettingTargets returns what the settings of a working tree's repository and of the user name below dirs, and what
// links among its hooks lead to.
func listSettingTargets(top string, dirs []string, home string) []string {
	at, ok := checkout.Find(top)
	if !ok {
		return nil
	}
	named := at.ListSettingTargets(home)
	var linked []string
	for _, hooks := range append([]string{filepath.Join(at.Common, "hooks")}, named...) {
		linked = append(linked, listLinkTargets(hooks)...)
	}
	slices.Sort(linked)
	linked = slices.DeleteFunc(slices.Compact(linked), func(path string) bool {
		return !slices.ContainsFunc(dirs, func(dir string) bool { return isStrictlyBelow(dir, path) })
	})
	found := slices.Concat(named, linked[:min(len(linked), checkout.MaxTargets)])
	return slices.DeleteFunc(found, func(path string) bool {
		isAbove := func(dir string) bool { return dir == path || isStrictlyBelow(path, dir) }
		return slices.ContainsFunc(dirs, isAbove) // all of the project
	})
}

// maxLinkSteps bounds the links that lead from one to the next.
const maxLinkSteps = 8

// listLinkTargets returns the paths to which links directly below a directory lead, whether they exist or not, and the
// links between.
func listLinkTargets(dir string) (targets []string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil
	}
	entries, _ := os.ReadDir(real) // what cannot be read is no directory of hooks
	for _, e := range entries {
		path := filepath.Join(real, e.Name())
		for range maxLinkSteps {
			target, err := os.Readlink(path)
			if err != nil {
				break
			}
			path = checkout.MakeAbsolute(target, filepath.Dir(path))
			targets = append(targets, path)
		}
	}
	return targets
}

// readStart returns the start of a file of git without the white space around it, "" if there is no such file.
func readStart(path string) string { return strings.TrimSpace(checkout.ReadStart(path)) }
