package project

import (
	"cmp"
	"os"

	"github.com/cairn-dev/cairn/internal/checkout"
	"github.com/cairn-dev/cairn/internal/fileattr"
	"github.com/cairn-dev/cairn/internal/record/store"
)

// Presence says what is in the place of a record now.
type Presence int

const (
	IsPresent  Presence = iota // what the record is of
	IsGone                     // nothing
	IsReplaced                 // another repository or directory, or the directory without the repository
	IsUnlinked                 // a working tree that the repository does not know which its .git names
)

// FindPresence looks for what a record is of, in its place. A repository that was restored from a backup counts as replaced
// until it is opened.
func FindPresence(p store.Project) Presence {
	// Nothing there, or not the same file.
	if _, err := os.Stat(p.Path); os.IsNotExist(err) {
		return IsGone
	}
	if p.File != "" && fileattr.ReadIdentity(cmp.Or(p.Common, p.Path)) != p.File {
		return IsReplaced
	}
	if p.Common != "" {
		return IsPresent
	}
	// The record is of a directory without a repository of its own: there may be one now.
	c, isGit := checkout.Find(p.Path)
	_, isBare := checkout.FindBare(p.Path)
	switch {
	case isGit && c.Top == p.Path && !c.IsOwned():
		return IsUnlinked
	case isGit && c.Top == p.Path, !isGit && isBare:
		return IsReplaced
	default:
		return IsPresent
	}
}
