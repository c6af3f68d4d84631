package session

import "github.com/go-json-experiment/json/jsontext"

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
