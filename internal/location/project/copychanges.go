package project

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairn-dev/cairn/internal/session"
)

// Bounds of the changes that CopyChanges copies.
const (
	maxCopied      = 5000
	maxCopiedBytes = 256 << 20
)

// ChangesCopy are uncommitted changes that CopyChanges copied.
type ChangesCopy struct {
	from, to Project
	files    []copiedFile
	there    []copiedFile // the destination had changed them in the same way, as after a copy that was cut off
}

// copiedFile is a changed file: what it is in the source, and what it was in the destination, which is what both
// commits have.
type copiedFile struct {
	name           string // with slashes
	changed, clean fileContent
}

// fileContent is what a path holds. The zero value is nothing.
type fileContent struct {
	mode fs.FileMode // of a regular file or a symbolic link
	data []byte      // the content, or the target
}

func (c fileContent) isNothing() bool { return c.mode == 0 }

// equals reports whether git sees no difference: of permissions it knows only that to execute.
func (c fileContent) equals(other fileContent) bool {
	return c.kind() == other.kind() && bytes.Equal(c.data, other.data)
}

func (c fileContent) kind() fs.FileMode { return c.mode & (fs.ModeType | 0o100) }

// CopyChanges copies the uncommitted changes of the working tree of one project to that of another: all of them, with new
// files that git does not ignore, or none with an error. Bytes and modes stay as they are. Both commits must have the
// same content in the changed files, which the destination must not have changed, or have changed in the same way. No
// index changes. If both are the same working tree, nothing is copied.
func (f *Finder) CopyChanges(ctx context.Context, from, to Project) (*ChangesCopy, error) {
	copied, err := f.copyChanges(ctx, from, to)
	if err != nil {
		return nil, describeCopyError(ctx, err, from, to)
	}
	return copied, nil
}

// describeCopyError returns the error of a copy as one for people: a working tree that was removed meanwhile, what was
// refused, or what git says.
func describeCopyError(ctx context.Context, err error, from, to Project) error {
	for _, p := range []Project{from, to} {
		if !isDirectory(p.Directory) {
			return session.Errorf(session.CodeConflict, "the directory %s does not exist any more", p.Directory).Because(err)
		}
	}
	if _, ok := errors.AsType[*session.Error](err); ok || ctx.Err() != nil {
		return err
	}
	words, _, _ := strings.Cut(err.Error(), "\n")
	return session.Errorf(session.CodeConflict, "the changes of %s cannot be copied: %s", from.Worktree,
		session.ClipText(words, 300)).Because(err)
}

func (f *Finder) copyChanges(ctx context.Context, from, to Project) (*ChangesCopy, error) {
	copied := &ChangesCopy{from: from, to: to}
	switch {
	case from.Worktree == to.Worktree && from.IsGit():
		return copied, nil
	case !from.IsGit():
		return nil, session.Errorf(session.CodeInvalid, "%s is in no git checkout, so its changes are not known", from.Directory)
	case !to.IsGit():
		return nil, session.Errorf(session.CodeInvalid, "%s is in no git checkout, so changes cannot be taken there", to.Directory)
	}
	// Find the changes of both, and what both commits have.
	changes, err := f.listChanged(ctx, from)
	if err != nil {
		return nil, err
	}
	if err := f.refuseHidden(ctx, from, changes); err != nil {
		return nil, err
	}
	theirs, err := f.listChanged(ctx, to)
	if err != nil {
		return nil, err
	}
	ours, err := f.readTree(ctx, from, changes)
	if err != nil {
		return nil, err
	}
	other, err := f.readTree(ctx, to, changes)
	if err != nil {
		return nil, err
	}
	// Read all that is changed, and refuse what does not fit.
	source, destination, err := openBoth(from, to)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	defer destination.Close()
	size := 0
	for _, name := range changes {
		one := copiedFile{name: name}
		if one.changed, err = readContent(source, name); err != nil {
			return nil, session.Errorf(session.CodeInvalid, "%s cannot be taken along: %v", name, err)
		}
		if one.clean, err = readContent(destination, name); err != nil {
			return nil, session.Errorf(session.CodeConflict, "%s cannot be taken to %s: %v", name, to.Worktree, err)
		}
		if size += len(one.changed.data) + len(one.clean.data); size > maxCopiedBytes {
			return nil, session.Errorf(session.CodeInvalid, "the changes in %s are larger than %d MiB; commit some of them first",
				from.Worktree, maxCopiedBytes>>20)
		}
		switch {
		case one.changed.equals(one.clean): // it is there already
			if one.clean, err = f.readCommitted(ctx, from, name, ours[name]); err != nil {
				return nil, err
			}
			copied.there = append(copied.there, one)
			continue
		case ours[name] != other[name]:
			err = errors.New("the commits differ in it")
		case slices.Contains(theirs, name) || ours[name] == "" && !one.clean.isNothing():
			err = errors.New("it is changed there, too")
		}
		if err != nil {
			return nil, session.Errorf(session.CodeConflict, "the changes do not fit into %s: %s: %v", to.Worktree, name, err)
		}
		copied.files = append(copied.files, one)
	}
	// Write them.
	if err := replaceFiles(destination, source, copied.files, false); err != nil {
		return nil, session.Errorf(session.CodeConflict, "the changes cannot be written to %s: %v", to.Worktree, err).Because(err)
	}
	return copied, nil
}

// Remove makes the changed files of the first working tree as both commits have them. If one of them has changed since,
// nothing is removed and the error says which.
func (c *ChangesCopy) Remove(context.Context) error {
	return removeFrom(c.from, c.to, slices.Concat(c.files, c.there))
}

// TakeBack is Remove for the second working tree.
func (c *ChangesCopy) TakeBack(context.Context) error { return removeFrom(c.to, c.from, c.files) }

// removeFrom makes files of one working tree clean; the other one has their changes.
func removeFrom(p, other Project, files []copiedFile) error {
	if len(files) == 0 {
		return nil
	}
	root, there, err := openBoth(p, other)
	if err != nil {
		return err
	}
	defer root.Close()
	defer there.Close()
	for _, one := range files {
		if now, err := readContent(root, one.name); err != nil || !now.equals(one.changed) {
			return fmt.Errorf("%s has changed meanwhile", one.name)
		}
	}
	return replaceFiles(root, there, files, true)
}

// readCommitted returns what the commit of a working tree has of a file, whose mode and object are those of readTree.
func (f *Finder) readCommitted(ctx context.Context, p Project, name, object string) (c fileContent, err error) {
	if object == "" {
		return c, nil
	}
	g, at, err := f.open(p)
	if err != nil {
		return c, err
	}
	fields := strings.Fields(object) // mode, kind and name of the object
	if len(fields) != 3 || fields[1] != "blob" {
		return c, session.Errorf(session.CodeInvalid, "%s cannot be taken along: it is a directory or a submodule", name)
	}
	text, err := g.call(ctx, at, invocation{args: []string{"cat-file", "blob", fields[2]}, most: maxCopiedBytes})
	if err != nil {
		return c, fmt.Errorf("read %s of the commit: %w", name, err)
	}
	mode := map[string]fs.FileMode{"100644": fileMark | 0o644, "100755": fileMark | 0o755, "120000": fs.ModeSymlink}[fields[0]]
	return fileContent{mode, []byte(text)}, nil
}

// listChanges are the arguments of git that list what differs from the commit.
var listChanges = []string{
	"diff", "--name-only", "-z", "--no-renames", "--no-ext-diff", "--no-textconv", "--ignore-submodules=none", "HEAD", "--",
}

// listChanged returns the files of a working tree that differ from its commit, and new ones that git does not ignore,
// sorted. A nested repository is an error, because git does not say what it contains.
func (f *Finder) listChanged(ctx context.Context, p Project) ([]string, error) {
	g, c, err := f.open(p)
	if err != nil {
		return nil, err
	}
	env, err := disableFilters(ctx, g, c)
	if err != nil {
		return nil, err
	}
	// Ask git for changed and for new files.
	work := "--work-tree=" + c.Top
	changed, err := g.runFor(ctx, c, env, append([]string{work}, listChanges...)...)
	if err != nil {
		return nil, fmt.Errorf("list the changes of %s: %w", p.Worktree, err)
	}
	fresh, err := g.runFor(ctx, c, env, work, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
	if err != nil {
		return nil, fmt.Errorf("list the new files of %s: %w", p.Worktree, err)
	}
	// Leave out the files that a copy makes beside others, and bound the rest.
	names := strings.FieldsFunc(changed+fresh, func(r rune) bool { return r == 0 })
	var kept []string
	names = slices.DeleteFunc(names, func(name string) bool {
		isSide := strings.HasPrefix(path.Base(name), sidePrefix)
		if isSide && !removeAbandoned(filepath.Join(c.Top, filepath.FromSlash(name))) {
			kept = append(kept, name)
		}
		return isSide
	})
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxCopied || len(changed) >= maxOutput || len(fresh) >= maxOutput {
		return nil, session.Errorf(session.CodeInvalid, "more than %d files are changed in %s; commit some of them first",
			maxCopied, p.Worktree)
	}
	return names, f.removeCommitted(ctx, p, kept, names)
}

// refuseHidden returns an error if git was told not to show the change of a file: it would stay behind without a word.
func (f *Finder) refuseHidden(ctx context.Context, p Project, shown []string) error {
	g, c, err := f.open(p)
	if err != nil {
		return err
	}
	x, err := g.copyIndex(ctx, c)
	if err != nil {
		return err
	}
	defer x.remove()
	all, err := x.run(ctx, listChanges...)
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(all, "\x00"), "\x00") {
		if _, found := slices.BinarySearch(shown, name); name != "" && !found && !strings.HasPrefix(path.Base(name), sidePrefix) {
			return session.Errorf(session.CodeConflict, "%s is changed in %s, and git was told not to show it: git update-index "+
				"--no-assume-unchanged --no-skip-worktree shows it, so that it can be taken along", name, p.Worktree)
		}
	}
	return nil
}

// readTree returns mode and object of the files in the commit of a working tree, by name. Those that it does not have
// are missing.
func (f *Finder) readTree(ctx context.Context, p Project, names []string) (map[string]string, error) {
	g, c, err := f.open(p)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for some := range slices.Chunk(names, 200) { // a command line is bounded
		args := append([]string{"--literal-pathspecs", "ls-tree", "-z", "HEAD", "--"}, some...)
		text, err := g.runFor(ctx, c, nil, args...)
		if err != nil {
			return nil, fmt.Errorf("read the commit of %s: %w", p.Worktree, err)
		}
		for line := range strings.SplitSeq(text, "\x00") {
			if object, name, ok := strings.Cut(line, "\t"); ok {
				out[name] = object
			}
		}
	}
	return out, nil
}

func openBoth(from, to Project) (source, destination *os.Root, err error) {
	if source, err = os.OpenRoot(from.Worktree); err != nil {
		return nil, nil, err
	}
	if destination, err = os.OpenRoot(to.Worktree); err != nil {
		return nil, nil, errors.Join(err, source.Close())
	}
	return source, destination, nil
}

// readContent returns what a path holds. Something else than a regular file or a symbolic link is an error.
func readContent(root *os.Root, name string) (c fileContent, err error) {
	if strings.HasSuffix(name, "/") {
		return c, errors.New("it is a repository of its own")
	}
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return c, nil
	}
	if err != nil {
		return c, err
	}
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		target, err := root.Readlink(name)
		return fileContent{fs.ModeSymlink, []byte(target)}, err
	case info.IsDir():
		return c, errors.New("it is a directory or a submodule")
	case !info.Mode().IsRegular():
		return c, errors.New("it is no regular file")
	case info.Size() > maxCopiedBytes:
		return c, fmt.Errorf("it has more than %d MiB", maxCopiedBytes>>20)
	}
	data, err := root.ReadFile(name)
	return fileContent{info.Mode().Perm() | fileMark, data}, err
}

// fileMark makes the mode of a regular file differ from that of nothing.
const fileMark = fs.ModeIrregular
