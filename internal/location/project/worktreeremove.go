package project

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/session"
)

// Removal says which linked worktree is removed, and how.
type Removal struct {
	Directory string
	Force     bool // save uncommitted changes under a reference instead of refusing
	// CheckIdle returns an error for people if something works in the worktree; nil checks nothing. It is called when
	// nothing can begin to work there any more.
	CheckIdle func(context.Context) error
}

const (
	// removing is the reason of the lock of a worktree that is being removed.
	removing = "cairn removes this worktree"
	// removedSuffix ends the name that the directory of such a worktree gets.
	removedSuffix = ".removed-by-cairn"
)

// RemoveWorktree removes a linked worktree, and its branch if another one has its commits. With uncommitted changes that
// git does not ignore it is a conflict; Force saves them under a reference and removes the worktree.
//
// The steps are such that the next call completes, or takes back, what a crash cut off, and that what is written meanwhile
// under the worktree's name is not lost: lock the worktree, rename its directory, look for work in it, delete its files,
// last of all .git, and then what git knows of it. A process outside of cairn whose working directory or open file is in the
// worktree follows the renaming: what it writes there after the look is deleted.
func (f *Finder) RemoveWorktree(ctx context.Context, p Project, r Removal) (out Saved, err error) {
	w, g, c, err := f.findWorktree(ctx, p, r.Directory)
	if err != nil {
		return out, err
	}
	if w.Lock != "" {
		return out, session.Errorf(session.CodeConflict, "the worktree %s is locked (%s); git worktree unlock unlocks it",
			w.Directory, session.ClipText(w.Lock, 100))
	}
	// Remove its files. What is saved is told, also by an earlier removal that did not end, and also with an error.
	r.Directory = w.Directory
	under := &removal{Removal: r, git: g, common: c, tree: w}
	under.earlier = under.findEarlier(ctx)
	defer func() { err = nameSaved(err, out.Ref) }()
	if w.IsGone && w.aside == "" {
		if w.Branch == "" {
			out.Ref, err = g.saveCommits(ctx, c, w, w.head, "")
		}
	} else {
		out.Ref, err = under.removeFiles(ctx)
	}
	out.Ref = cmp.Or(out.Ref, under.earlier)
	if err != nil {
		return out, err
	}
	// Remove its branch, then what git knows of it: the next removal needs that to find the rest.
	ctx = context.WithoutCancel(ctx)
	under.passFaultPoint(ctx)
	if w.Branch != "" && !g.removeBranch(ctx, c, under.tree) {
		out.Branch = w.Branch
	}
	under.passFaultPoint(ctx)
	if err := under.removeAdministration(ctx); err != nil {
		if _, missing := f.FindWorktree(ctx, p, r.Directory); errors.Is(missing, &session.Error{Code: session.CodeNotFound}) {
			return out, missing // another removal has completed it
		}
		return out, err
	}
	return out, nil
}

// nameSaved adds to the error of a removal where the work is that was saved; ref may be "".
func nameSaved(err error, ref string) error {
	if err == nil || ref == "" {
		return err
	}
	named := session.Error{Code: session.CodeConflict, Err: err}
	if e, ok := errors.AsType[*session.Error](err); ok {
		named = *e
		named.Nearest = nil // the text of the error has them
	}
	named.Message = fmt.Sprintf("%v; its uncommitted work is saved as %s", err, ref)
	return &named
}

// removeBranch deletes the branch of a worktree if another branch or a tag has its commits, and no other worktree has it
// checked out. It reports whether it does not exist any more.
func (g git) removeBranch(ctx context.Context, c checkout.Checkout, w LinkedWorktree) bool {
	tip, err := g.findCommit(ctx, c, "refs/heads/"+w.Branch)
	if err == nil {
		if isOwn, err := g.isOwnCommit(ctx, c, w.Branch, tip); err != nil || isOwn {
			return false
		}
	}
	return g.deleteBranch(ctx, c, w, tip) == nil
}

// removal is a removal under way.
type removal struct {
	Removal
	git    git
	common checkout.Checkout // the shared directory of the repository
	tree   LinkedWorktree
	// isPartial reports that files may be missing: an earlier removal has deleted them, or a creation has not written them.
	isPartial bool
	earlier   string // the reference under which an earlier removal has saved work; "" without one
}

// findEarlier returns the reference under which an earlier removal, which did not end, has saved work of this worktree: one
// that is newer than the lock.
func (r *removal) findEarlier(ctx context.Context) string {
	if !r.tree.IsRemoving && !r.tree.IsCreating {
		return ""
	}
	lock, err := os.Stat(filepath.Join(r.findAdministration(), "locked"))
	if err != nil {
		return ""
	}
	return r.git.findSaved(ctx, r.common, r.tree, lock.ModTime())
}

// removeFiles removes the directory of a worktree. It returns the reference under which its work is saved. With an error
// the worktree is what it was, or the next removal goes on.
func (r *removal) removeFiles(ctx context.Context) (ref string, err error) {
	w := &r.tree
	r.isPartial = w.IsRemoving || w.IsCreating
	// Refuse what must stay before anything changes, and move it aside.
	if w.aside == "" {
		if err := r.begin(ctx); err != nil {
			return "", err
		}
		r.passFaultPoint(ctx)
	}
	// Nothing can begin to work in it any more, so what is there now is all.
	if ref, err = r.saveRenamed(ctx); err != nil {
		return "", r.putBack(ctx, err)
	}
	r.passFaultPoint(ctx)
	if err := r.deleteRenamed(ctx); err != nil {
		return ref, session.Errorf(session.CodeConflict,
			"the worktree %s cannot be removed: %v; what is left is in %s; mend that, and remove the worktree again",
			w.Directory, err, w.aside).Because(err)
	}
	return ref, nil
}

// passFaultPoint passes the point at which tests end the process.
func (r *removal) passFaultPoint(ctx context.Context) { _ = fault.PassPoint(ctx, fault.WorktreeRemove) }

// begin locks a worktree and renames its directory, unless it has uncommitted changes that Force does not allow.
func (r *removal) begin(ctx context.Context) error {
	// Refuse what is in the way, or must stay.
	w := &r.tree
	info, err := os.Lstat(w.Directory)
	if err == nil && !info.IsDir() {
		err = errors.New("it is no directory")
	}
	if err != nil {
		return session.Errorf(session.CodeConflict, "the worktree %s cannot be removed: %v", w.Directory, err)
	}
	if _, err := os.Lstat(w.Directory + removedSuffix); err == nil {
		return session.Errorf(session.CodeConflict, "the worktree %s cannot be removed: %s exists already; move that away",
			w.Directory, w.Directory+removedSuffix)
	}
	r.prepareCheck(ctx, w.Directory)
	if err := r.check(ctx, w.Directory); err != nil {
		if w.IsRemoving { // an earlier removal has locked it
			return r.putBack(ctx, err)
		}
		return err
	}
	// Lock it, and rename it.
	if !w.IsRemoving && !w.IsCreating {
		if _, err := r.git.runFor(ctx, r.common, nil, "worktree", "lock", "--reason", removing, w.Directory); err != nil {
			return session.Errorf(session.CodeConflict, "the worktree %s cannot be removed: %v", w.Directory, err).Because(err)
		}
		w.IsRemoving = true
	}
	r.passFaultPoint(ctx)
	if err := os.Rename(w.Directory, w.Directory+removedSuffix); err != nil {
		return r.unlock(ctx, session.Errorf(session.CodeConflict, "the worktree %s cannot be removed: %v", w.Directory, err).Because(err))
	}
	w.aside = w.Directory + removedSuffix
	return nil
}

// workIn says where the work of the worktree is looked for.
func (r *removal) workIn(directory string) work {
	return work{tree: r.tree, directory: directory, isPartial: r.isPartial, earlier: r.earlier}
}

// check returns why a worktree must stay as it is.
func (r *removal) check(ctx context.Context, directory string) error {
	x, changes, err := r.git.findWork(ctx, r.workIn(directory))
	if err != nil {
		return err
	}
	x.remove()
	if len(changes) > 0 && !r.Force {
		return refuseChanges(r.tree, changes)
	}
	return nil
}

// prepareCheck restores the files that git needs to tell work from the rest, if an earlier removal has deleted them.
func (r *removal) prepareCheck(ctx context.Context, directory string) {
	if !r.isPartial {
		return
	}
	r.restoreLink(directory)
	if c, ok := checkout.Find(directory); ok && c.Top == directory {
		isIgnoreFile := func(name string) bool { return filepath.Base(name) == ".gitignore" }
		_ = r.git.restoreMissing(ctx, c, isIgnoreFile) // else more counts as work
	}
}

// saveRenamed saves the work in the renamed directory and returns its reference, or why the worktree must stay.
func (r *removal) saveRenamed(ctx context.Context) (ref string, err error) {
	w := r.tree
	r.prepareCheck(ctx, w.aside)
	if r.CheckIdle != nil {
		if err := r.CheckIdle(ctx); err != nil {
			return "", err
		}
	}
	if entries, err := os.ReadDir(w.aside); err != nil || len(entries) == 0 {
		return "", err
	}
	return r.git.saveWork(ctx, r.workIn(w.aside), r.Force)
}

// putBack gives the worktree its name again, with the files that an earlier removal deleted, and unlocks it. It returns
// why, with what could not be put back.
func (r *removal) putBack(ctx context.Context, why error) error {
	ctx, w := context.WithoutCancel(ctx), &r.tree
	if w.aside != "" {
		_, err := os.Lstat(w.Directory)
		if err == nil {
			err = fmt.Errorf("%s exists again", w.Directory)
		} else {
			err = os.Rename(w.aside, w.Directory)
		}
		if err != nil {
			return session.Errorf(session.CodeConflict, "%v; it cannot be put back from %s: %v", why, w.aside, err).Because(why)
		}
		w.aside = ""
	}
	r.passFaultPoint(ctx)
	if c, ok := checkout.Find(w.Directory); ok && c.Top == w.Directory && r.isPartial && !w.IsCreating {
		if err := r.git.restoreMissing(ctx, c, func(string) bool { return true }); err != nil {
			return session.Errorf(session.CodeConflict, "%v; files that the removal deleted are not restored: %v", why, err).Because(why)
		}
	}
	r.setGitdir(w.Directory)
	return r.unlock(ctx, why)
}

// unlock takes back the lock of a removal. It returns why, with what could not be taken back.
func (r *removal) unlock(ctx context.Context, why error) error {
	if r.tree.IsCreating { // which it stays
		return why
	}
	if _, err := r.git.runFor(context.WithoutCancel(ctx), r.common, nil, "worktree", "unlock", r.tree.Directory); err != nil {
		return session.Errorf(session.CodeConflict, "%v; the worktree stays locked: %v", why, err).Because(why)
	}
	return why
}

// deleteRenamed deletes the renamed directory. .git goes last: until then git can say what is work. It cannot be cancelled.
func (r *removal) deleteRenamed(ctx context.Context) error {
	ctx, aside := context.WithoutCancel(ctx), r.tree.aside
	entries, err := os.ReadDir(aside)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == ".git" {
			continue
		}
		if err := removeAll(filepath.Join(aside, e.Name())); err != nil {
			return err
		}
		r.passFaultPoint(ctx)
	}
	if err := ignoreMissing(os.Remove(filepath.Join(aside, ".git"))); err != nil {
		return err
	}
	r.passFaultPoint(ctx)
	if err := ignoreMissing(os.Remove(aside)); err != nil {
		r.restoreLink(aside) // something was written in it
		return err
	}
	return nil
}

// removeAll is os.RemoveAll, also for directories that must not be written, such as those of module caches.
func removeAll(path string) error {
	err := os.RemoveAll(path)
	if !errors.Is(err, fs.ErrPermission) {
		return err
	}
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) // else the removal below fails
		}
		return nil
	})
	return os.RemoveAll(path)
}

// removeAdministration removes what git knows of a worktree whose files are gone.
func (r *removal) removeAdministration(ctx context.Context) error {
	listed := r.tree.listed
	if _, err := os.Lstat(r.tree.Directory); err == nil && r.tree.IsRemoving { // it was made anew
		listed = r.tree.Directory + removedSuffix
		r.setGitdir(listed)
	}
	if _, err := r.git.runFor(ctx, r.common, nil, "worktree", "remove", "--force", "--force", listed); err != nil {
		return session.Errorf(session.CodeConflict, "git cannot remove the worktree %s: %v", r.tree.Directory, err).Because(err)
	}
	return nil
}

// findAdministration returns the directory in which git keeps what it knows of the worktree; "" if there is none.
func (r *removal) findAdministration() string {
	all := filepath.Join(r.common.Common, "worktrees")
	entries, _ := os.ReadDir(all)
	for _, e := range entries {
		directory := filepath.Join(all, e.Name())
		link, ok := checkout.FirstLine(filepath.Join(directory, "gitdir"))
		if ok && filepath.Dir(checkout.MakeAbsolute(link, directory)) == r.tree.listed {
			return directory
		}
	}
	return ""
}

// setGitdir makes git look for the worktree in a directory.
func (r *removal) setGitdir(directory string) {
	if r.tree.listed == directory {
		return
	}
	if at := r.findAdministration(); at != "" {
		link := filepath.ToSlash(filepath.Join(directory, ".git")) + "\n"
		if os.WriteFile(filepath.Join(at, "gitdir"), []byte(link), 0o644) == nil { //nolint:gosec // as git writes it
			r.tree.listed = directory
		}
	}
}

// restoreLink writes the file .git of the worktree in a directory if a removal has deleted it.
func (r *removal) restoreLink(directory string) {
	path := filepath.Join(directory, ".git")
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) || !r.tree.IsRemoving {
		return
	}
	if at := r.findAdministration(); at != "" {
		_ = os.WriteFile(path, []byte("gitdir: "+filepath.ToSlash(at)+"\n"), 0o644) //nolint:gosec // as git writes it
	}
}
