// Package api is the V2 HTTP contract in Go: the wire types, the one table between domain errors and HTTP answers,
// and the client. Server and client share them, so that what one writes the other reads, and a caller of the client
// gets the same *session.Error that the engine returned.
//
// The shapes are OpenCode's , with additional fields and operations of cairn. Fields that OpenCode does not
// have are left out unless a request says all=1; the client always does.
//
// The client never reconnects by itself. A stream that breaks yields a *TransportError; the caller resumes with the
// seq of the last durable event it saw and gets each later event exactly once.
package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Data is the answer of most operations.
type Data[T any] struct {
	Data T `json:"data"`
}

// AtLocation is the answer of an operation on a location.
type AtLocation[T any] struct {
	Location LocationInfo `json:"location"`
	Data     T            `json:"data"`
}

// Page is a part of a list. A cursor is opaque; both are there whenever the page is not empty, so that a caller can
// look for what was added since.
//
// Damaged counts the elements that are left out because their stored rows are damaged. Elsewhere counts, on the first page
// of the sessions of a project, those of other checkouts of its repository. Both are cairn's own fields.
type Page[T any] struct {
	Data      []T    `json:"data"`
	Cursor    Cursor `json:"cursor"`
	Damaged   int    `json:"damaged,omitzero"`
	Elsewhere int    `json:"elsewhere,omitzero"`
}

// MaxElsewhere is the highest Elsewhere of a page: there may be more.
const MaxElsewhere = 1000

// Cursor leads to the neighbouring pages.
type Cursor struct {
	Previous string `json:"previous,omitzero"`
	Next     string `json:"next,omitzero"`
}

// History is a page of durable events. HasMore says that later ones exist now.
type History struct {
	Data    []session.Event `json:"data"`
	HasMore bool            `json:"hasMore"`
}

// LocationInfo is a location and the project it belongs to.
type LocationInfo struct {
	Directory   string  `json:"directory"`
	WorkspaceID string  `json:"workspaceID,omitzero"`
	Project     Project `json:"project"`
	// Model answers the prompts of sessions and agents that have none of their own; nil if it cannot be said.
	Model *session.ModelRef `json:"model,omitzero"`
	// Repository is the working tree that contains the repository, also of its linked worktrees; "" outside of one.
	Repository string `json:"repository,omitzero"`
	// RecordID is the record of the project; "" if it could not be stored.
	RecordID session.RecordID `json:"recordID,omitzero"`
	// Unlinked: .git names a repository that does not know this working tree, as in a worktree that was moved without git, or
	// one that is not there.
	Unlinked bool `json:"unlinked,omitzero"`
	// Earlier are directories whose sessions go on in this one, since the project was moved here.
	Earlier []string `json:"earlier,omitzero"`
}

// ProjectRef returns what a request can name the location's project by: its record, or what OpenCode calls it without one.
func (l LocationInfo) ProjectRef() session.ProjectID {
	if l.RecordID != "" {
		return session.ProjectID(l.RecordID)
	}
	return l.Project.ID
}

// Project is a repository, or "global" for what is in none.
type Project struct {
	ID        session.ProjectID `json:"id"`
	Directory string            `json:"directory"`
}

// Health is the answer of a healthy server. Version, PID and Directory are for trusted callers only.
type Health struct {
	Healthy bool   `json:"healthy"`
	Problem string `json:"problem,omitzero"` // why nothing can be written, or what is unknown of a healthy store
	Version string `json:"version,omitzero"`
	PID     int    `json:"pid,omitzero"`
	// Sandbox is the least strict sandbox of sessions that begin here.
	Sandbox   session.SandboxMode `json:"sandboxMode,omitzero"`
	Directory string              `json:"directory,omitzero"` // where sessions are made when a request names no location
}

// CompactionItem is a request for a compaction in the inbox, in the shape of OpenCode 2.0.
type CompactionItem struct {
	ID        session.MessageID `json:"id"`
	SessionID session.ID        `json:"sessionID"`
	Time      struct {
		Created int64 `json:"created"`
	} `json:"time"`
	Type     string                    `json:"type"` // TypeCompaction
	Payload  session.CompactionRequest `json:"payload"`
	Delivery session.Delivery          `json:"delivery"`
}

// TypeCompaction is the type of a CompactionItem.
const TypeCompaction = "compaction"

// NewCompactionItem returns the item of an input that requests a compaction.
func NewCompactionItem(in *session.Input) CompactionItem {
	out := CompactionItem{
		ID: in.ID, SessionID: in.SessionID, Type: TypeCompaction, Payload: *in.Compaction, Delivery: in.Delivery,
	}
	out.Time.Created = in.TimeCreated
	return out
}

// Active is a session that is at work or, with all=1, that waits with work which a process left unfinished.
type Active struct {
	Type      string `json:"type"`               // TypeRunning or TypeUnfinished
	Directory string `json:"directory,omitzero"` // of an unfinished one
}

// The types of an Active.
const (
	TypeRunning    = "running"
	TypeUnfinished = "unfinished"
)

// Status is the activity of a session: idle, queued, busy, retry, awaiting-permission or awaiting-answer. Next is the
// time of the next attempt in milliseconds.
type Status struct {
	Type    string `json:"type"`
	Attempt int    `json:"attempt,omitzero"`
	Message string `json:"message,omitzero"`
	Next    int64  `json:"next,omitzero"`
}

// StatusIdle is the Type of a session that does nothing.
const StatusIdle = "idle"

// Approval is a saved permission of a project. RecordID, Lifetime, Holder and Time are sent with all=1 only.
type Approval struct {
	ID        string            `json:"id"`
	ProjectID session.ProjectID `json:"projectID"`
	RecordID  session.RecordID  `json:"recordID,omitzero"`
	Action    string            `json:"action"`
	Resource  string            `json:"resource"`
	Lifetime  session.Lifetime  `json:"lifetime,omitzero"`
	Holder    string            `json:"holder,omitzero"` // the session or the process that the lifetime ends with
	Time      int64             `json:"time,omitzero"`
}

// AskReceipt is the answer to a permission request made from outside: the effect, and with effect "ask" the pending
// ask.
type AskReceipt struct {
	ID     session.AskID  `json:"id"`
	Effect session.Effect `json:"effect"`
}

// Verdict says what would be decided about an action, and about each part of what it is on.
type Verdict struct {
	Effect session.Effect `json:"effect"`
	Parts  []Decision     `json:"parts"`
	// Sandbox confines the command, if it runs; of an action other than bash it is "".
	Sandbox session.SandboxMode `json:"sandbox,omitzero"`
}

// Decision is the effect for one part, and the rule that decided. Without a rule nothing matched, so that it asks.
type Decision struct {
	Resource string         `json:"resource"` // … stands for what is not known beforehand
	Effect   session.Effect `json:"effect"`
	Rule     *session.Rule  `json:"rule,omitzero"`
	Layer    string         `json:"layer,omitzero"`
	Source   string         `json:"source,omitzero"` // file and line
	Reason   string         `json:"reason,omitzero"` // why no pattern allows a command
}

// Spend is what one turn cost.
type Spend struct {
	SessionID session.ID       `json:"sessionID"`
	Seq       int64            `json:"seq"`
	Time      int64            `json:"time"`
	Model     session.ModelRef `json:"model"`
	Cost      session.USD      `json:"cost"`
	Tokens    session.Tokens   `json:"tokens"`
}

// SessionBudget is the budget of a session and what it and its descendants used of it.
type SessionBudget struct {
	Budget *session.Budget `json:"budget"` // null without limits
	Cost   session.USD     `json:"cost"`
	Tokens session.Tokens  `json:"tokens"`
}

// Notice is live news that is no event, such as session.status. It is not repeated to readers that were disconnected.
type Notice struct {
	Kind      string
	SessionID session.ID
	Data      jsontext.Value
}

// Update is one thing that a stream tells: exactly one field is set.
type Update struct {
	Event    *session.Event
	Fragment *session.Fragment
	Notice   *Notice
}
