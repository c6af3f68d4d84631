package session

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
)

// KeySharedFiles is the key of the context entry whose value is the list of SharedFiles. cairn sets it; a client
// can remove it.
const KeySharedFiles = "shared-files"

// SharedFiles are files that another session of the project has changed as well, from other contents to other contents.
type SharedFiles struct {
	SessionID ID         `json:"sessionID"`
	Title     string     `json:"title"`
	Directory string     `json:"directory"`
	Files     []FilePath `json:"files"`          // relative to the root of the worktree
	Added     int        `json:"added,omitzero"` // of Files, those at the end that the newest setting of the entry added
	Time      int64      `json:"time,omitzero"`  // when work of the other session added files last, in milliseconds; 0: never
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
