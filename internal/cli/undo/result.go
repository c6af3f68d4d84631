package undo

import (
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
)

// commands has the commands of this package as methods.
type commands struct{ inv *cli.Invocation }

// Result is the output of `undo`, `redo` and `revert` with --json, on one line.
type Result struct {
	// OK is false, and the exit code 1, if a file stays as it is, or may. Everything else was done.
	OK        bool               `json:"ok"`
	SessionID session.ID         `json:"sessionID"`
	Preview   bool               `json:"preview,omitzero"`    // the revert was only planned
	Committed bool               `json:"committed,omitzero"`  // the revert is final
	Revert    *session.Revert    `json:"revert,omitzero"`     // the staged, planned or committed revert
	Restored  []session.FilePath `json:"restored,omitempty"`  // files that redo brought back
	Kept      []session.KeptFile `json:"kept,omitempty"`      // files that redo did not bring back
	Unknown   []string           `json:"unknown,omitempty"`   // what redo cannot bring back, for people
	Copies    []string           `json:"copies,omitempty"`    // of what the files held that redo --files brought back
	MessageID session.MessageID  `json:"messageID,omitempty"` // the prompt that undo takes back, or redo brings back
}
