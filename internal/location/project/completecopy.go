package project

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// CompleteCopy completes a CopyChanges whose Remove was cut off: the changes that both working trees have leave the first
// one, with what the copy wrote beside them. It returns the files that are changed in the first one only; they stay.
func (f *Finder) CompleteCopy(ctx context.Context, from, to Project) (left []string, err error) {
	if from.Worktree == to.Worktree || !from.IsGit() || !to.IsGit() {
		return nil, nil
	}
	left, err = f.completeCopy(ctx, from, to)
	if err != nil {
		return nil, describeCopyError(ctx, err, from, to)
	}
	return left, nil
}

func (f *Finder) completeCopy(ctx context.Context, from, to Project) (left []string, err error) {
	// Find the changes that both have, and what they were made from.
	changes, err := f.listChanged(ctx, from)
	if err != nil {
		return nil, err
	}
	committed, err := f.readTree(ctx, from, changes)
	if err != nil {
		return nil, err
	}
	source, destination, err := openBoth(from, to)
	if err != nil {
		return nil, err
	}
	defer source.Close()
	defer destination.Close()
	var both []copiedFile
	for _, name := range changes {
		one := copiedFile{name: name}
		there, errThere := readContent(destination, name)
		if one.changed, err = readContent(source, name); err != nil || errThere != nil || !one.changed.equals(there) {
			left = append(left, name)
			continue
		}
		if one.clean, err = f.readCommitted(ctx, from, name, committed[name]); err != nil {
			return nil, err
		}
		both = append(both, one)
	}
	if err := removeFrom(from, to, both); err != nil {
		return nil, err
	}
	return left, f.removeSecondNames(ctx, from, to)
}

// removeSecondNames removes the files that a copy whose process has ended left beside others in the first working tree, if
// a changed file beside them in the second one has what they hold.
func (f *Finder) removeSecondNames(ctx context.Context, from, to Project) error {
	g, c, err := f.open(from)
	if err != nil {
		return err
	}
	fresh, err := g.runFor(ctx, c, nil, "--work-tree="+c.Top, "ls-files", "-z", "--others", "--exclude-standard", "--", ".")
	if err != nil {
		return err
	}
	theirs, err := f.listChanged(ctx, to)
	if err != nil {
		return err
	}
	source, destination, err := openBoth(from, to)
	if err != nil {
		return err
	}
	defer source.Close()
	defer destination.Close()
	for name := range strings.SplitSeq(fresh, "\x00") {
		if kind, isAbandoned := findAbandoned(filepath.FromSlash(name)); kind != sideOld || !isAbandoned {
			continue
		}
		held, err := readContent(source, name)
		isThere := func(other string) bool {
			there, err := readContent(destination, other)
			return path.Dir(other) == path.Dir(name) && err == nil && there.equals(held)
		}
		if err == nil && slices.ContainsFunc(theirs, isThere) {
			_ = source.Remove(name) // it is in the way of nothing
		}
	}
	return nil
}

// removeCommitted removes the files of kept, which copies made beside others, whose process has ended and which hold what
// the commit has of a changed file beside them.
func (f *Finder) removeCommitted(ctx context.Context, p Project, kept, changed []string) error {
	if len(kept) == 0 {
		return nil
	}
	objects, err := f.readTree(ctx, p, changed)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Worktree)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range kept {
		kind, isAbandoned := findAbandoned(filepath.FromSlash(name))
		held, err := readContent(root, name)
		object := " " + blobName([]string{string(held.data)})
		isCommitted := func(other string) bool {
			return path.Dir(other) == path.Dir(name) && strings.HasSuffix(objects[other], object)
		}
		if kind == sideOld && isAbandoned && err == nil && slices.ContainsFunc(changed, isCommitted) {
			_ = root.Remove(name) // it is in the way of nothing
		}
	}
	return nil
}
