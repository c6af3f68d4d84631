// Package ask decides permission requests, and carries the asks that people must answer.
//
// A request is decided by the permission rules, then by the saved approvals, then by the ask policy of the prompt,
// and otherwise by the reply of a person. Questions of tools and budgets that are used up take the same path. An ask
// is a durable fact before anyone can see it, and a reply is a durable fact before the waiting call continues. After
// a restart a call asks again in the same words and finds its earlier ask, so that no reply is lost and none is asked
// for twice.
//
// The package knows neither the engine nor its turns: an Asker holds what it needs of them.
package ask

import (
	"context"
	"crypto/rand"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Actions of the engine's own asks. A rule applies to them only if it names them: "*" does not match.
const (
	ActionBudget = "budget"
	ActionLoop   = "doom_loop"
)

// Config of an Asks. All fields are required.
type Config struct {
	Journal   *turnlog.Journal
	Locations scope.Scopes
	// CheckOpen returns an error once the process accepts no new work.
	CheckOpen func() error
	// Resume makes a session continue what an earlier process left open.
	Resume func(session.ID)
}

// Asks holds the asks that calls of this process wait for, and replies to them. Safe for concurrent use.
type Asks struct {
	journal   *turnlog.Journal
	locations scope.Scopes
	checkOpen func() error
	resume    func(session.ID)
	process   string // identifies this process as the holder of approvals that end with it
	waiters   waiters
	running   liveUsage
}

// New returns an Asks without waiting calls.
func New(c Config) *Asks {
	return &Asks{
		journal: c.Journal, locations: c.Locations, checkOpen: c.CheckOpen, resume: c.Resume, process: rand.Text(),
		running: liveUsage{sessions: map[session.ID]liveWork{}},
	}
}

// Asker describes who asks: a tool call of a turn, or the engine itself before a turn.
type Asker struct {
	SessionID session.ID
	RecordID  session.RecordID // whose saved approvals apply: that of the location, "" for none
	Agent     string
	Layers    []permission.Layer // permission rules, lowest precedence first
	Policy    Policy
	// Restricted: approvals of the session's lifetime do not apply, because the work is for a caller without the scope
	// approve.
	Restricted bool
	Call       *AskingCall // nil if the engine itself asks
	// Extensions see the requests of the call that the rules do not deny; nil: none does.
	Extensions *extension.Run
	// Yield gives up the asker's execution slot while it waits for a reply, and returns what takes the slot back.
	Yield func(action string) (reacquire func(context.Context))
}

// approvalHolder returns the session whose own approvals apply, "" for none.
func (by Asker) approvalHolder() session.ID {
	if by.Restricted {
		return ""
	}
	return by.SessionID
}

// source returns how the ask refers to the call, nil without one.
func (by Asker) source() *session.AskSource {
	if by.Call == nil {
		return nil
	}
	return &session.AskSource{Type: "tool", MessageID: by.Call.MessageID, CallID: by.Call.ID, PartID: by.Call.PartID}
}

// PartOf returns the content item of the call that asks, "" for an ask of the engine itself or of an external caller.
// External callers may name any call, but never its item.
func PartOf(a session.PendingAsk) session.PartID {
	if a.Source == nil {
		return ""
	}
	return a.Source.PartID
}

// CountWaiting returns how many asks of the session wait for a reply in this process.
func (a *Asks) CountWaiting(id session.ID) int { return a.waiters.count(id) }

// readAsk returns the ask's row.
func (a *Asks) readAsk(ctx context.Context, id session.AskID) (row store.AskRow, err error) {
	err = a.journal.Store.View(ctx, func(r store.Reader) error {
		found, ok, err := store.FindAsk(r, id)
		if err == nil && !ok {
			err = session.NotFound("permission", string(id))
		}
		if found != nil {
			row = *found
		}
		return err
	})
	return row, err
}
