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
	PresencePresent  Presence = iota // what the record is of, as far as is known
	PresenceGone                     // nothing
	PresenceReplaced                 // perhaps something else: another file, or a directory that has got or lost a repository
	PresenceUnlinked                 // a working tree that the repository does not know which its .git names
)

// FindPresence looks for what a record is of, in its place. Only what opens the directory decides whether another file is
// that of the record: a repository that was restored from a backup is, and so is each one after the numbers of devices
// changed.
func FindPresence(p store.Project) Presence {
	// Nothing there, or another file. What cannot be read counts as present.
	_, errPath := os.Stat(p.Path)
	file := cmp.Or(p.Common, p.Path)
	_, errFile := os.Stat(file)
	identity := fileattr.ReadIdentity(file)
	switch {
	case os.IsNotExist(errPath):
		return PresenceGone
	case os.IsNotExist(errFile), p.File != "" && identity != "" && identity != p.File:
		return PresenceReplaced
	}
	if p.Common != "" {
		return PresencePresent
	}
	// The record is of a directory without a repository of its own: there may be one now.
	c, isGit := checkout.Find(p.Path)
	_, isBare := checkout.FindBare(p.Path)
	switch {
	case isGit && c.Top == p.Path && !c.IsOwned(), !isGit && checkout.IsDangling(p.Path):
		return PresenceUnlinked
	case isGit && c.Top == p.Path, !isGit && isBare:
		return PresenceReplaced
	default:
		return PresencePresent
	}
}
