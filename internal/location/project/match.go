package project

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/record/store"
)

// diskState is what is on disk at a directory.
type diskState struct {
	Path   string // root of the main checkout, or the directory outside of git
	Common string // git common directory; "" outside of git, and of a checkout that does not own its repository
	// The identities of both; "" if unknown.
	PathFile, CommonFile string
	// Guessed: Path is not that of the main checkout, which a linked worktree of a bare repository does not tell.
	Guessed bool
	// HasRoot reports whether the repository has the commit, and it is a root. It is false outside of git.
	HasRoot func(commit string) bool
	// Root returns the root commit of HEAD, "" without one.
	Root func() string
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
//  2. The record of the place, if another file is there that has the record's root commit.
//  3. The record of a directory in which git init was called since.
//  4. The record of the same file, which was renamed or moved, if it has the record's root commit.
//
// A root commit or a remote alone never leads to a record: a clone, a fork or a copy has them, too.
func match(now *diskState, known []store.Project) store.Project {
	for _, rule := range []func(*diskState, *store.Project) bool{isUnchanged, isReplaced, isInitialized, isMoved} {
		for _, p := range known {
			if rule(now, &p) {
				return now.apply(p)
			}
		}
	}
	return now.apply(store.Project{})
}

// isAt reports whether what is on disk is where the record was.
func isAt(now *diskState, p *store.Project) bool {
	return p.Common == now.Common && (now.Common != "" || p.Path == now.Path)
}

// isUnchanged reports whether the file at the record's place is still the same one, whatever was done in it since.
func isUnchanged(now *diskState, p *store.Project) bool {
	return isAt(now, p) && p.File != "" && p.File == now.file()
}

// isReplaced reports whether another file at the record's place has the record's root commit. A record without commits
// fits a repository without commits, and any repository if the identity of one of the files is unknown.
func isReplaced(now *diskState, p *store.Project) bool {
	if p.Root == "" {
		return isAt(now, p) && (p.File == "" || now.file() == "" || now.Root() == "")
	}
	return isAt(now, p) && now.HasRoot(p.Root)
}

// isInitialized reports whether the record is that of the directory before it had a repository. A clone into another
// directory with the same path is none.
func isInitialized(now *diskState, p *store.Project) bool {
	return now.Common != "" && p.Common == "" && p.Path == now.Path && p.File == now.PathFile &&
		(p.File != "" || now.Root() == "") && (p.Root == "" || now.HasRoot(p.Root))
}

// isMoved reports whether the record is that of the same file under another path.
func isMoved(now *diskState, p *store.Project) bool {
	return p.File != "" && p.File == now.file() && (p.Common == "") == (now.Common == "") &&
		(p.Root == "" || now.HasRoot(p.Root))
}

// apply returns the record with what is on disk.
func (now *diskState) apply(p store.Project) store.Project {
	if !now.Guessed || p.Common != now.Common {
		if p.Path != "" && p.Path != now.Path {
			earlier := slices.DeleteFunc(slices.Clone(p.Earlier), func(path string) bool { return path == p.Path || path == now.Path })
			p.Earlier = append(earlier, p.Path)
			p.Earlier = p.Earlier[max(0, len(p.Earlier)-store.MaxEarlier):]
		}
		p.Path = now.Path
	}
	p.Common, p.File = now.Common, now.file()
	if p.Root == "" {
		p.Root = now.Root()
	}
	return p
}
