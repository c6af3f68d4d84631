package project

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// diskState is what is on disk at a directory (observe.go). It is all that match reads, except that HasRoot and Root may
// run git.
type diskState struct {
	Path   string // root of the main checkout, or the directory outside of git
	Common string // git common directory; "" outside of git, and of a checkout that does not own its repository
	// The identities of both; "" if unknown.
	PathFile, CommonFile string
	// IsMainUnknown: Path is not that of the main checkout, which a linked worktree of a bare repository does not tell.
	IsMainUnknown bool
	// Unlinked: a checkout of git is there that does not own its repository.
	Unlinked bool
	Remote   string            // normalized address of the remote "origin"; "" without one
	Stored   session.ProjectID // the id that OpenCode has stored in the repository; "" without one
	Linked   []string          // the linked worktrees that exist; read by observeWorktrees only
	// Worktree is the linked worktree around the directory; zero elsewhere, or if its identity is unknown.
	Worktree store.ProjectWorktree
	// HasRoot reports whether the repository has the commit, and it is a root. It is false outside of git.
	HasRoot func(commit string) bool
	// Root returns the root commit of HEAD, "" without one.
	Root func() string

	commits *commits // what HasRoot and Root have answered
}

// file returns the identity that a record has.
func (now *diskState) file() string {
	if now.Common != "" {
		return now.CommonFile
	}
	return now.PathFile
}

// match returns which of the known records is that of what is on disk now, brought up to date, or a new one without an
// id. The rules in their order:
//
//  1. The record of the same file at the same place: common directory, or path outside of git.
//  2. The record of the same file, which was renamed or moved, if it has the record's root commit: also to a place where
//     another project was.
//  3. The record of the place, if another file is there that has the record's root commit.
//  4. The record of the same directory before git init was called in it, or before its repository was removed.
//
// A root commit or a remote alone never leads to a record: a clone, a fork or a copy has them, too (PR-1, PR-2).
func match(now *diskState, known []store.Project) store.Project {
	for _, leads := range rules {
		for _, p := range known {
			if leads(now, &p) {
				return now.apply(p)
			}
		}
	}
	return now.apply(store.Project{})
}

// rule reports whether what is on disk is that of a record.
type rule func(now *diskState, p *store.Project) bool

var rules = []rule{isUnchanged, isMoved, isRestored, isInitialized, isUninitialized}

// isAt reports whether what is on disk is where the record was.
func isAt(now *diskState, p *store.Project) bool {
	return p.Common == now.Common && (now.Common != "" || p.Path == now.Path)
}

// isUnchanged reports whether the file at the record's place is still the same one, whatever was done in it since.
func isUnchanged(now *diskState, p *store.Project) bool {
	return isAt(now, p) && p.File != "" && p.File == now.file()
}

// isRestored reports whether another file at the record's place has the record's root commit. A record without commits
// fits a repository without commits, and any repository if the identity of one of the files is unknown.
func isRestored(now *diskState, p *store.Project) bool {
	if p.Root == "" {
		return isAt(now, p) && (p.File == "" || now.file() == "" || now.Root() == "")
	}
	return isAt(now, p) && now.HasRoot(p.Root)
}

// isInitialized reports whether the record is that of the directory before it had a repository. A clone into another
// directory with the same path is not.
func isInitialized(now *diskState, p *store.Project) bool {
	return now.Common != "" && p.Common == "" && p.Path == now.Path && p.File == now.PathFile &&
		(p.File != "" || now.Root() == "") && (p.Root == "" || now.HasRoot(p.Root))
}

// isUninitialized reports whether the record is that of the directory while it had a repository. A new directory in its
// place, or one whose .git names the repository of another one, is not.
func isUninitialized(now *diskState, p *store.Project) bool {
	return now.Common == "" && !now.Unlinked && p.Common != "" && p.Path == now.Path &&
		p.PathFile != "" && p.PathFile == now.PathFile
}

// isMoved reports whether the record is that of the same file under another path. A directory outside of git keeps the
// root commit of the repository that it had, but cannot have it.
func isMoved(now *diskState, p *store.Project) bool {
	return p.File != "" && p.File == now.file() && (p.Common == "") == (now.Common == "") &&
		(p.Root == "" || now.Common == "" && !now.Unlinked || now.HasRoot(p.Root))
}

// apply returns the record with what is on disk.
func (now *diskState) apply(p store.Project) store.Project {
	// The place, and the one before it.
	if !now.IsMainUnknown || p.Common != now.Common {
		if p.Path != "" && p.Path != now.Path {
			earlier := slices.DeleteFunc(slices.Clone(p.Earlier), func(path string) bool { return path == p.Path || path == now.Path })
			p.Earlier = append(earlier, p.Path)
			p.Earlier = p.Earlier[max(0, len(p.Earlier)-store.MaxEarlier):]
		}
		p.Path, p.PathFile = now.Path, ""
		if now.Common != "" {
			p.PathFile = now.PathFile
		}
	}
	// The repository. Its first root commit stays, whatever is checked out later.
	p.Common, p.File = now.Common, now.file()
	if p.Root == "" {
		p.Root = now.Root()
	}
	if w := now.Worktree; w.File != "" && !slices.Contains(p.Worktrees, w) {
		others := slices.DeleteFunc(slices.Clone(p.Worktrees), func(o store.ProjectWorktree) bool { return o.Directory == w.Directory })
		p.Worktrees = append(others, w)
		p.Worktrees = p.Worktrees[max(0, len(p.Worktrees)-store.MaxWorktrees):]
	}
	// What OpenCode calls it follows the settings of the repository.
	p.ProjectID, p.Remote = Global, ""
	if now.Common != "" || now.Unlinked {
		p.ProjectID, p.Remote = computeID(now, p.Root), now.Remote
	}
	return p
}
