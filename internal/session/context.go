package session

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// NestedInstruction is an instruction file below the location. It applies since the agent has worked beside it.
type NestedInstruction struct {
	Path string `json:"path"`
	Root string `json:"root"` // the location at that time
}

// ContextEntry is a text or JSON value that a client adds to the system context.
type ContextEntry struct {
	Key   string         `json:"key"`
	Value jsontext.Value `json:"value,omitzero"`
}

// The limits of what is added to the system context of a session.
const (
	MaxNested     = 64       // instruction files that it discovers
	MaxEntries    = 64       // entries of clients
	MaxEntryKey   = 128      // bytes of the key of an entry
	MaxEntry      = 16 << 10 // bytes of the JSON value of an entry
	MaxEntryBytes = 64 << 10 // of all entries together
)

// KeySharedFiles is the key of the context entry whose value is the list of SharedFiles. cairn sets it; like every
// entry, a client can remove it.
const KeySharedFiles = "shared-files"

// SharedFiles are files that another session of the project has changed as well, from other contents to other contents.
type SharedFiles struct {
	SessionID ID         `json:"sessionID"`
	Title     string     `json:"title"`
	Directory string     `json:"directory"`
	Files     []FilePath `json:"files"` // relative to the root of the worktree
}

// ReadSharedFiles returns the files of the entry KeySharedFiles, none if the entry has another form.
func ReadSharedFiles(entries []ContextEntry) (list []SharedFiles) {
	s := Session{Entries: entries}
	if at, found := s.FindEntry(KeySharedFiles); !found || json.Unmarshal(entries[at].Value, &list) != nil {
		return nil
	}
	return list
}

// String returns a line that names the files and the session.
func (f SharedFiles) String() string {
	names := make([]string, len(f.Files))
	for i, path := range f.Files {
		names[i] = path.Quote()
	}
	return fmt.Sprintf("%s: session %s %q in %s", strings.Join(names, ", "), f.SessionID, f.Title, f.Directory)
}
