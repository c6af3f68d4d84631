package cli

import (
	"github.com/cairn-dev/cairn/internal/session"
)

// Change is the JSON line that --json prints for a change. A change that failed prints none.
type Change struct {
	OK         bool              `json:"ok"` // always true
	SessionID  session.ID        `json:"sessionID,omitzero"`
	MessageID  session.MessageID `json:"messageID,omitzero"` // of a waiting prompt
	AskID      session.AskID     `json:"askID,omitzero"`
	Reply      session.Reply     `json:"reply,omitzero"`
	JobID      session.JobID     `json:"jobID,omitzero"`
	ApprovalID string            `json:"approvalID,omitzero"`
	RecordID   session.RecordID  `json:"recordID,omitzero"` // of a project
	TokenID    string            `json:"tokenID,omitzero"`
	Provider   string            `json:"provider,omitzero"`
	File       string            `json:"file,omitzero"`
	Root       string            `json:"root,omitzero"` // of a project
	Hash       string            `json:"hash,omitzero"` // of what is trusted
	Key        string            `json:"key,omitzero"`  // of the configuration
	Count      *int              `json:"count,omitzero"`
	Copies     []string          `json:"copies,omitempty"` // that keep a deleted session
}

// FinishChange returns the error with which a change failed. Without one it reports the change.
func (a *Invocation) FinishChange(err error, c Change, text string) error {
	if err == nil {
		a.ReportChange(c, text)
	}
	return err
}

// ReportChange confirms a change: to programs, or with the text, if there is one, to people.
func (a *Invocation) ReportChange(c Change, text string) {
	switch {
	case a.JSON:
		c.OK = true
		a.PrintJSONLine(c)
	case text != "":
		a.Err.Printf("%s\n", text)
	}
}
