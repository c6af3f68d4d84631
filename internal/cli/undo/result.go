package undo

import (
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
)

// commands are `cairn undo`, `redo`, `revert` and `diff`.
type commands struct{ inv *cli.Invocation }

// Result is what `undo`, `redo` and `revert` print with --json, on one line.
type Result struct {
	// OK is false if a file that is not as the session left it stays as it is. Everything else was done.
	OK        bool               `json:"ok"`
	SessionID session.ID         `json:"sessionID"`
	Preview   bool               `json:"preview,omitzero"`    // nothing was changed
	Committed bool               `json:"committed,omitzero"`  // redo is not possible
	Revert    *session.Revert    `json:"revert,omitzero"`     // that is staged now, or would be, or was committed
	Restored  []session.FilePath `json:"restored,omitempty"`  // by redo
	Kept      []session.KeptFile `json:"kept,omitempty"`      // that redo did not restore
	MessageID session.MessageID  `json:"messageID,omitempty"` // the prompt that undo takes back, or redo brings back
}
