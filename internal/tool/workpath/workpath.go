// Package workpath resolves the paths that tools name and opens the files that they resolve to. It is shared by the
// packages tool/file, tool/search and tool/exec.
//
// A path is resolved before anything else, symbolic links included. Permission rules match the resolved path, people
// are shown it, and it is opened component by component through directory handles without following links, so that a
// link created after the resolution changes nothing. A path outside of the Location and its worktree needs the
// permission external_directory, which is requested before any other.
package workpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Resolver resolves the paths of one Location.
type Resolver struct {
	Directory string // the Location: absolute; relative paths start here
	Worktree  string // the git worktree that contains it, absolute; "" or "/" outside of a worktree
	OutputDir string // the directory of managed tool output, whose files need no permission; "" without managed output
	Private   Private
}

// Resolve resolves a path that the model named. It does not ask for permission.
// It resolves symbolic links in every part that exists, so that permission is asked for the file that is really meant.
// A path that does not exist is valid: Info is nil then.
func (r Resolver) Resolve(name string) (Path, error) {
	if name == "" {
		name = "."
	}
	if strings.ContainsRune(name, 0) {
		return Path{}, tool.Failf("The path %q contains a NUL byte. Name a path without it.", name)
	}
	// Relative names count from the session's directory.
	p := Path{Abs: filepath.Clean(name)}
	if !filepath.IsAbs(name) {
		p.Abs = filepath.Join(r.Directory, name)
	}
	var err error
	if p.Real, err = ResolveLinks(p.Abs); err != nil {
		return Path{}, failResolve(p.Abs, err)
	}
	// Titles are relative to the worktree, if there is one; else they are absolute.
	roots := r.listRoots()
	p.titleRoot = string(filepath.Separator)
	if len(roots) > 0 && r.hasWorktree() {
		p.titleRoot = roots[0]
	}
	// The first root that contains the real path decides whether the path counts as inside.
	for _, root := range roots {
		if rel, ok := RelativeTo(root, p.Real); ok {
			p.Root, p.Rel = root, filepath.ToSlash(rel)
			break
		}
	}
	// Refuse cairn's own files last: the caller needs the resolved path for its report.
	if info, err := os.Lstat(p.Real); err == nil {
		p.Info = info
	}
	if p.private = r.Private; p.private.Contains(p.Real) {
		return p, tool.Failf("%s belongs to cairn's own data and keys, which are not opened. Work with other files.", p.Abs)
	}
	return p, nil
}

// hasWorktree reports whether a worktree is set that is not the root of the file system.
func (r Resolver) hasWorktree() bool {
	return r.Worktree != "" && r.Worktree != filepath.Dir(r.Worktree)
}

// listRoots returns the real directories that contain the Location, the wider one first. The root of the file system is
// no worktree.
func (r Resolver) listRoots() []string {
	var roots []string
	for _, dir := range []string{r.Worktree, r.Directory} {
		if dir == "" || dir == r.Worktree && !r.hasWorktree() {
			continue
		}
		if real, err := ResolveLinks(dir); err == nil {
			roots = append(roots, real)
		}
	}
	return roots
}

// Contains reports whether a file lies in the Location or its worktree, by its name or after its links are resolved. It
// is true for a file that cannot be resolved.
func (r Resolver) Contains(file string) bool {
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return true
	}
	for _, root := range append(r.listRoots(), r.Directory, r.Worktree) {
		if root == "" || root == filepath.Dir(root) {
			continue
		}
		_, named := RelativeTo(root, file)
		if _, resolved := RelativeTo(root, real); resolved || named {
			return true
		}
	}
	return false
}

// IsManagedOutput reports whether the path is a file of managed tool output, which is read without permission.
func (r Resolver) IsManagedOutput(p Path) bool {
	if r.OutputDir == "" {
		return false
	}
	dir, err := ResolveLinks(r.OutputDir)
	return err == nil && filepath.Dir(p.Real) == dir && strings.HasPrefix(filepath.Base(p.Real), "tool_")
}

func failResolve(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return tool.Failf("%s cannot be reached: the operating system refuses it.", path)
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failf("File not found: %s", path)
	default:
		return tool.Failf("%s cannot be resolved: %v.", path, FileErrorCause(err))
	}
}

// FileErrorCause returns the reason in an error of a file operation, without the operation and the path.
func FileErrorCause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}
