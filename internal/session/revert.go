package session

import (
	"errors"
	"slices"
)

// Revert is a staged revert: the session goes back to before MessageID, or to before a part of it. Its files are
// restored when it is staged; its messages are hidden, and removed when it is committed.
type Revert struct {
	MessageID MessageID `json:"messageID"`
	PartID    PartID    `json:"partID,omitzero"`    // the first part that goes, "" if all of the message is
	Exclusive bool      `json:"exclusive,omitzero"` // the message goes as well, as in V1
	Snapshot  string    `json:"snapshot,omitzero"`  // names the state of the files before the revert
	Diff      string    `json:"diff,omitzero"`      // of files, in git's form, shortened if long
	// Files are the files that the revert changes.
	Files []RevertedFile `json:"files,omitzero"`
	// Kept are the files that the session wrote after that point and that stay as they are.
	Kept []KeptFile `json:"kept,omitzero"`
	// Unknown lists what the session may have changed and the revert cannot restore.
	Unknown []string    `json:"unknown,omitzero"`
	Phase   RevertPhase `json:"phase,omitzero"`
	// FilesOnly keeps the messages: they are neither hidden nor removed.
	FilesOnly bool `json:"filesOnly,omitzero"`
	// RequestID is the RequestID of the compaction that MessageID names, "" if it names another message. V1 shows a
	// compaction as two messages, the first one under this id.
	RequestID MessageID `json:"requestID,omitzero"`
}

// IsSamePoint reports whether both reverts go back to the same point; nil is no revert.
func (r *Revert) IsSamePoint(other *Revert) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.MessageID == other.MessageID && r.PartID == other.PartID && r.Exclusive == other.Exclusive
}

// CountTaken returns how many of the messages, newest first, the revert takes back: those after its message, and that one
// if all or a part of it goes. found reports whether its message is among them; without it all are taken back. It does
// not look at FilesOnly.
func (r *Revert) CountTaken(newest []Message) (n int, found bool) {
	n = slices.IndexFunc(newest, func(m Message) bool { return m.Meta().ID == r.MessageID })
	switch {
	case n < 0:
		return len(newest), false
	case r.Exclusive || r.PartID != "":
		return n + 1, true
	}
	return n, true
}

// RevertPhase says what is under way with a revert. A process that finds a phase other than RevertDone at its start
// completes it.
type RevertPhase string

// The phases of a revert.
const (
	RevertDone      RevertPhase = ""          // its files are restored
	RevertApplying  RevertPhase = "applying"  // its files are being restored
	RevertRestoring RevertPhase = "restoring" // its files are being brought back to before the revert
)

// RevertedFile is a file that a revert changes.
type RevertedFile struct {
	Path   FilePath `json:"path"`
	Status string   `json:"status"` // what the revert does to it: "added", "deleted" or "modified"
	// Additions and Deletions are the lines that the revert adds and removes.
	Additions int `json:"additions"`
	Deletions int `json:"deletions"`
	// Patch is the difference in git's form, "" if it is too long.
	Patch  string    `json:"patch"`
	Undone string    `json:"undone,omitzero"` // what the session did, as in ChangedFile
	From   PathState `json:"from,omitzero"`   // before the revert
	To     PathState `json:"to,omitzero"`     // which the revert restores
	Reason string    `json:"reason,omitzero"` // for people: why it does not return to before the session's first change
	Copy   string    `json:"copy,omitzero"`   // where a copy of the overwritten content is
	// Others are copies of versions that others made between the session's changes, and that a forced revert skips.
	Others []string `json:"others,omitempty"`
	By     []ID     `json:"by,omitempty"`  // subagents that changed it
	Perm   uint32   `json:"perm,omitzero"` // as in FileChange, of the state in which there is a file
}

// AsChange returns what the revert does to the file.
func (f *RevertedFile) AsChange() FileChange {
	return FileChange{Path: f.Path, Before: f.From, After: f.To, Perm: f.Perm}
}

// ErrFileChanged is the error of restoring a file that is not in the expected state. People read it after the name of
// the file.
var ErrFileChanged = errors.New("it was changed meanwhile")

// KeptFile is a file that a revert leaves as it is.
type KeptFile struct {
	Path     FilePath  `json:"path"`
	Conflict bool      `json:"conflict,omitzero"` // it is not as the session left it: a forced revert changes it
	Reason   string    `json:"reason"`            // for people: why it stays
	State    PathState `json:"state,omitzero"`    // as it is
	To       PathState `json:"to,omitzero"`       // which the revert would have restored
	Copy     string    `json:"copy,omitzero"`     // where a copy of the content is that was not restored
}

// keepAll moves files of the revert to those that stay as they are.
func (r *Revert) keepAll(kept []KeptFile) {
	if len(kept) == 0 {
		return
	}
	stays := map[FilePath]bool{}
	for _, k := range kept {
		stays[k.Path] = true
	}
	r.Files = slices.DeleteFunc(slices.Clone(r.Files), func(f RevertedFile) bool { return stays[f.Path] })
	r.Kept = append(slices.Clip(r.Kept), kept...)
}
