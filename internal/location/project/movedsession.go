package project

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// FindMoved returns where a session works since its project, or its linked worktree, was moved away from the session's
// directory. here is the
// record of the project that is in that directory now, "" if none is known. The result is "" if the directory is there and
// no other project has it, or if nothing is known of a move. If another project took the place of the session's own, and
// that was not seen elsewhere since, it is a *session.Error of code conflict.
func (f *Finder) FindMoved(ctx context.Context, s *session.Session, here session.RecordID) (to string, err error) {
	if s.RecordID == "" || here == s.RecordID || here == "" && isDirectory(s.Location.Directory) {
		return "", nil
	}
	own, err := f.readRecord(ctx, s.RecordID)
	if err != nil || own == nil {
		return "", err
	}
	if to := f.findSince(ctx, own, s.Location.Directory); to != "" {
		return to, nil
	}
	// It was not opened since. Most often a project is renamed: look beside the place where it was.
	if own, err = f.findRenamed(ctx, own); err != nil {
		return "", err
	}
	if to := cmp.Or(f.findSince(ctx, own, s.Location.Directory), findWorktreeSince(own, s.Location.Directory)); to != "" || here == "" {
		return to, nil
	}
	// A repository that was made in the session's directory, or is there instead of one that was removed, took nothing away.
	other, err := f.readRecord(ctx, here)
	isTaken := other != nil && (other.Path == own.Path || slices.Contains(own.Earlier, other.Path))
	if err != nil || !isTaken || own.PathFile != "" && own.PathFile == other.PathFile {
		return "", err
	}
	return "", session.Errorf(session.CodeConflict, "the project of this session is not in %s any more, another one is: "+
		"run a cairn command where it is now, such as cairn session list, or cairn session move %s DIR --to-other-project",
		other.Path, s.ID).At("directory")
}

// findSince returns where a directory of the project is, since the project was moved; "" if it is not known to have been,
// does not have the directory any more, or if another project is where its record says.
func (f *Finder) findSince(ctx context.Context, p *store.Project, directory string) string {
	if there, err := f.Peek(ctx, p.Path); err != nil || there.RecordID != p.ID {
		return ""
	}
	for _, earlier := range slices.Backward(p.Earlier) {
		rest, inside := cutDirectory(directory, earlier)
		if to := filepath.Join(p.Path, rest); inside && to != directory && isDirectory(to) {
			return to
		}
	}
	return ""
}

// findWorktreeSince returns where a directory of a linked worktree is, since the worktree was moved as git knows it (git
// worktree move or repair); "" if the worktree was not seen in the directory, or does not have it any more.
func findWorktreeSince(p *store.Project, directory string) string {
	for _, w := range slices.Backward(p.Worktrees) {
		rest, inside := cutDirectory(directory, w.Directory)
		if !inside {
			continue
		}
		for _, top := range checkout.ListWorktrees(p.Common) {
			c, ok := checkout.Find(top)
			isSame := ok && fileattr.IsSameIdentity(fileattr.ReadIdentity(c.GitDir), w.File)
			if to := filepath.Join(top, rest); isSame && to != directory && isDirectory(to) {
				return to
			}
		}
	}
	return ""
}

// maxBeside bounds the directories that findRenamed looks at.
const maxBeside = 1000

// findRenamed looks for the directory of a project beside the place where it was, and returns the record as it is then. If
// it is not found that is p.
func (f *Finder) findRenamed(ctx context.Context, p *store.Project) (*store.Project, error) {
	identity := cmp.Or(p.PathFile, p.File)
	if identity == "" || fileattr.ReadIdentity(p.Path) == identity {
		return p, nil
	}
	parent, err := os.Open(filepath.Dir(p.Path))
	if err != nil {
		return p, nil //nolint:nilerr // the parent is gone as well
	}
	defer parent.Close()
	beside, _ := parent.ReadDir(maxBeside)
	for _, entry := range beside {
		path := filepath.Join(filepath.Dir(p.Path), entry.Name())
		if !entry.IsDir() || fileattr.ReadIdentity(path) != identity {
			continue
		}
		found, err := f.Find(ctx, path)
		if err != nil || found.RecordID != p.ID {
			return p, err
		}
		now, err := f.readRecord(ctx, p.ID)
		return cmp.Or(now, p), err
	}
	return p, nil
}

// maxRenamed bounds the missing directories that FollowRenamed looks for.
const maxRenamed = 50

// FollowRenamed brings the records up to date whose directories were only renamed: what is beside the old place is theirs.
func (f *Finder) FollowRenamed(ctx context.Context) error {
	all, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{})
	})
	if err != nil {
		return err
	}
	missing := slices.DeleteFunc(all, func(p store.Project) bool { return isDirectory(p.Path) })
	for _, p := range missing[max(0, len(missing)-maxRenamed):] { // the newest ones
		if _, err := f.findRenamed(ctx, &p); err != nil {
			return err
		}
	}
	return nil
}

// ListEarlier returns the directories whose sessions go on in the directory of the project p, since p or the linked
// worktree was moved (FindMoved): those of which the sessions are not the project's own any more.
func (f *Finder) ListEarlier(ctx context.Context, p Project) ([]string, error) {
	own, err := f.readRecord(ctx, p.RecordID)
	if err != nil || own == nil {
		return nil, err
	}
	// Earlier places of the project, and of the linked worktree.
	var places []string
	if rest, inside := cutDirectory(p.Directory, own.Path); inside {
		for _, earlier := range own.Earlier {
			places = append(places, filepath.Join(earlier, rest))
		}
	}
	if c, ok := checkout.Find(p.Directory); ok && c.IsLinked() {
		rest, _ := cutDirectory(p.Directory, c.Top)
		file := fileattr.ReadIdentity(c.GitDir)
		for _, w := range own.Worktrees {
			if w.Directory != c.Top && fileattr.IsSameIdentity(w.File, file) {
				places = append(places, filepath.Join(w.Directory, rest))
			}
		}
	}
	// Without those that have sessions of their own, such as a worktree that is there now.
	return slices.DeleteFunc(places, func(dir string) bool {
		there, err := f.Peek(ctx, dir)
		return err == nil && there.RecordID == p.RecordID
	}), nil
}

// readRecord returns the record, nil without one.
func (f *Finder) readRecord(ctx context.Context, id session.RecordID) (*store.Project, error) {
	if id == "" || f.Store == nil {
		return nil, nil
	}
	found, err := store.Query(ctx, f.Store, func(r store.Reader) ([]store.Project, error) {
		return r.Projects(store.ProjectQuery{ID: id})
	})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// cutDirectory returns the path below a directory, and whether it is the directory or below it.
func cutDirectory(path, directory string) (rest string, inside bool) {
	return strings.CutPrefix(path+"/", strings.TrimSuffix(directory, "/")+"/")
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
