package builtin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/tool"
)

// maxLinks bounds how many links to nothing are followed.
const maxLinks = 40

// site is the place that the tools of one Location work in.
type site struct {
	config Config
}

// place is a path as it was named and what it resolves to.
type place struct {
	abs  string // as named: absolute and lexically clean
	real string // without symbolic links, those at the very end included; it need not exist
	root string // the real directory that confines it; "" outside
	rel  string // real relative to root, with slashes; "." is root
	top  string // the real directory that people's names of it begin at: the worktree, else "/"
	info fs.FileInfo
}

func (p place) inside() bool { return p.root != "" }

func (p place) isDir() bool { return p.info != nil && p.info.IsDir() }

// resource is what rules see: the path below the root, or the whole path outside of it (spec/v2 PA-3, PA-5).
func (p place) resource() string {
	if p.inside() {
		return p.rel
	}
	return filepath.ToSlash(p.real)
}

// title is how people see it: by its way from the top.
func (p place) title() string {
	rel, err := filepath.Rel(p.top, p.real)
	switch {
	case err != nil:
		return p.resource()
	case rel == ".":
		return ""
	default:
		return filepath.ToSlash(rel)
	}
}

// locate resolves a path that the model named. It says nothing about whether it may be touched.
func (s *site) locate(name string) (place, error) {
	if name == "" {
		name = "."
	}
	if strings.ContainsRune(name, 0) {
		return place{}, tool.Failf("The path %q holds a NUL byte. Name a path without it.", name)
	}
	p := place{abs: filepath.Clean(name)}
	if !filepath.IsAbs(name) {
		p.abs = filepath.Join(s.config.Directory, name)
	}
	var err error
	if p.real, err = canonical(p.abs, maxLinks); err != nil {
		return place{}, resolveFailure(p.abs, err)
	}
	roots := s.roots()
	p.top = s.top(roots)
	for _, root := range roots {
		if rel, ok := below(root, p.real); ok {
			p.root, p.rel = root, filepath.ToSlash(rel)
			break
		}
	}
	if info, err := os.Lstat(p.real); err == nil {
		p.info = info
	}
	return p, nil
}

func resolveFailure(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission):
		return tool.Failf("%s cannot be reached: the operating system refuses it.", path)
	case errors.Is(err, fs.ErrNotExist):
		return tool.Failf("File not found: %s", path)
	default:
		return tool.Failf("%s cannot be resolved: %v.", path, cause(err))
	}
}

// cause is the reason in an error of a file operation, without the path that it was about.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	if le, ok := errors.AsType[*os.LinkError](err); ok {
		return le.Err
	}
	return err
}

// roots are the real directories that confine the tools, the wider one first.
func (s *site) roots() []string {
	var roots []string
	for _, dir := range []string{s.config.Worktree, s.config.Directory} {
		if dir == "" || dir == filepath.Dir(dir) && dir == s.config.Worktree {
			continue // the root of the file system is nobody's worktree
		}
		if real, err := canonical(dir, maxLinks); err == nil {
			roots = append(roots, real)
		}
	}
	return roots
}

// top is where titles begin: the worktree, or, where there is none, the root of the file system.
func (s *site) top(roots []string) string {
	if len(roots) > 0 && s.config.Worktree != "" && s.config.Worktree != filepath.Dir(s.config.Worktree) {
		return roots[0]
	}
	return string(filepath.Separator)
}

// below returns path relative to dir if it is dir or lies in it. Both are clean.
func below(dir, path string) (string, bool) {
	if path == dir {
		return ".", true
	}
	prefix := strings.TrimSuffix(dir, string(filepath.Separator)) + string(filepath.Separator)
	return strings.CutPrefix(path, prefix)
}

// canonical resolves every symbolic link of an absolute path, also of one of which the last parts do not exist or cannot
// be reached, and also links to what does not exist: writing there would create their target. That something is in the
// way is said by whoever opens it, after it was asked for.
func canonical(path string, links int) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if err == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) && !errors.Is(err, fs.ErrPermission) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path || links == 0 {
		return "", err
	}
	if parent, err = canonical(parent, links-1); err != nil {
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
	return canonical(target, links-1)
}

// managed reports whether the place is a file of the managed output, which may be read without asking.
func (s *site) managed(p place) bool {
	o := s.config.Outputs
	if o == nil || o.Dir == "" {
		return false
	}
	dir, err := canonical(o.Dir, maxLinks)
	return err == nil && filepath.Dir(p.real) == dir && strings.HasPrefix(filepath.Base(p.real), "tool_")
}

// askOutside asks for the directory of a place outside, and does nothing inside. It comes before every other ask.
func (s *site) askOutside(ctx context.Context, call tool.Call, p place) error {
	return askAll(ctx, call, p.outside())
}

// outside is the request for a place outside, if it is one.
func (p place) outside() []tool.Request {
	if p.inside() {
		return nil
	}
	dir := p.directory()
	return []tool.Request{{
		Action:    "external_directory",
		Resources: []string{dir + "/*"},
		Save:      []string{permission.Escape(dir) + "/*"},
		Metadata:  object(map[string]string{"filepath": p.real, "parentDir": dir}),
	}}
}

// askAll makes the requests one after another, until one is refused.
func askAll(ctx context.Context, call tool.Call, requests []tool.Request) error {
	for _, r := range requests {
		if err := call.Ask(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// directory is the real path of the place, or of what holds it if it is none, with slashes.
func (p place) directory() string {
	dir := p.real
	if !p.isDir() {
		dir = filepath.Dir(p.real)
	}
	return strings.TrimSuffix(filepath.ToSlash(dir), "/")
}
