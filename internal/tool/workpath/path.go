package workpath

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/tool"
)

// maxLinks bounds the symbolic links that ResolveLinks follows to files that do not exist.
const maxLinks = 40

// Path is a path as a tool named it, and the path that it resolves to.
type Path struct {
	Abs  string      // as named: absolute and lexically clean
	Real string      // without symbolic links, also at its end; it need not exist
	Root string      // the real directory of the Resolver that contains Real; "" if none does
	Rel  string      // Real relative to Root, with slashes; "." is Root
	Info fs.FileInfo // of Real; nil if it does not exist

	titleRoot string // the real directory that titles are relative to
	private   Private
}

// IsPrivateEntry reports whether an entry of the directory or below is one that is not opened.
func (p Path) IsPrivateEntry(path string) bool { return p.private.IsEntry(path) }

// IsInside reports whether the path lies in a directory of its Resolver.
func (p Path) IsInside() bool { return p.Root != "" }

// IsDir reports whether the path is a directory.
func (p Path) IsDir() bool { return p.Info != nil && p.Info.IsDir() }

// Resource is the text that permission rules match: the path relative to Root, or the whole real path outside.
func (p Path) Resource() string {
	if p.IsInside() {
		return p.Rel
	}
	return filepath.ToSlash(p.Real)
}

// Title is the path for people: relative to the worktree, or to the root of the file system if there is no worktree.
func (p Path) Title() string {
	rel, err := filepath.Rel(p.titleRoot, p.Real)
	switch {
	case err != nil:
		return p.Resource()
	case rel == ".":
		return ""
	default:
		return filepath.ToSlash(rel)
	}
}

// Join returns the path of a file below p. rel has slashes, contains no link, and is "" for p itself.
func (p Path) Join(rel string) Path {
	if rel == "" {
		return p
	}
	rel = filepath.FromSlash(rel)
	q := Path{Abs: filepath.Join(p.Abs, rel), Real: filepath.Join(p.Real, rel), Root: p.Root}
	if p.IsInside() {
		r, _ := RelativeTo(p.Root, q.Real)
		q.Rel = filepath.ToSlash(r)
	}
	return q
}

// Dir returns the real path of the directory, or of the directory that contains the file, with slashes.
func (p Path) Dir() string {
	dir := p.Real
	if !p.IsDir() {
		dir = filepath.Dir(p.Real)
	}
	return strings.TrimSuffix(filepath.ToSlash(dir), "/")
}

// RequireDir returns an error for the model if the path is not a directory.
func (p Path) RequireDir() error {
	switch {
	case p.Info == nil:
		return tool.Failf("There is no directory %s.", p.Abs)
	case !p.IsDir():
		return tool.Failf("%s is %s, not a directory.", p.Abs, describeMode(p.Info.Mode()))
	default:
		return nil
	}
}

// RelativeTo returns path relative to dir if it is dir or lies in it. Both are clean.
func RelativeTo(dir, path string) (rel string, ok bool) {
	if path == dir {
		return ".", true
	}
	prefix := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	return strings.CutPrefix(path, prefix)
}

// ResolveLinks resolves every symbolic link of an absolute path. The last parts of the path need not exist or be
// readable; a link to a missing file is resolved as well, because writing through it would create its target. If a file
// takes the place of a directory, opening the path reports it.
func ResolveLinks(path string) (string, error) { return resolveLinks(path, maxLinks) }

func resolveLinks(path string, links int) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	missing := errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, fs.ErrPermission)
	if err == nil || !missing {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path || links == 0 {
		return "", err
	}
	if parent, err = resolveLinks(parent, links-1); err != nil {
		return "", err
	}
	path = filepath.Join(parent, filepath.Base(path))
	target, err := os.Readlink(path)
	if err != nil {
		return path, nil
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(parent, target)
	}
	return resolveLinks(target, links-1)
}

// Private are directories whose files are not opened, whatever the rules say: cairn's own data, state and keys.
type Private struct {
	Dirs   []string // absolute; missing ones are allowed
	Except []string // directories below them that are opened
}

// Contains reports whether a path without links is one of the directories or lies below one. Directories are compared
// as the file system does, so that neither the case of a name nor a mount leads into them.
func (p Private) Contains(real string) bool {
	return p.liesWithin(p.Dirs, real) && !p.liesWithin(p.Except, real)
}

func (p Private) liesWithin(dirs []string, real string) bool {
	for at := real; ; at = filepath.Dir(at) {
		if p.isOneOf(dirs, at) {
			return true
		}
		if at == filepath.Dir(at) {
			return false
		}
	}
}

func (p Private) isOneOf(dirs []string, at string) bool {
	info, err := os.Lstat(at)
	for _, dir := range dirs {
		real, rerr := ResolveLinks(dir)
		if rerr != nil {
			real = dir
		}
		if real == at {
			return true
		}
		if there, serr := os.Lstat(real); err == nil && serr == nil && os.SameFile(info, there) {
			return true
		}
	}
	return false
}

// IsEntry reports whether an entry of a directory that is walked is private. It costs system calls only for an entry
// that has the name of a private directory.
func (p Private) IsEntry(path string) bool {
	for _, dir := range p.Dirs {
		if strings.EqualFold(filepath.Base(dir), filepath.Base(path)) {
			return p.Contains(path)
		}
	}
	return false
}
