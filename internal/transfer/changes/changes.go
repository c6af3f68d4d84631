// Package changes says what events change of sessions as OpenCode's clients see them, and renders it: the mirror and the
// shares bring up to date only what differs.
package changes

import (
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// Change says what of a session must be rendered again. The session's own value always is.
type Change struct {
	ID    session.ID
	Whole bool                 // all messages; those that are not there any more are gone
	Diff  *session.DiffUpdated // the newest one

	from     int64 // messages with this seq or a later one; -1: none
	messages map[session.MessageID]bool
	calls    []string // of user commands
}

// NewWhole returns the change of everything of a session.
func NewWhole(id session.ID) *Change { return &Change{ID: id, Whole: true, from: -1} }

// Collect returns the changes that the events mean, one a session, in the order of their first events.
func Collect(events []store.EventRow) []*Change {
	var out []*Change
	by := map[session.ID]*Change{}
	for i := range events {
		e := &events[i]
		c := by[e.SessionID]
		if c == nil {
			c = &Change{ID: e.SessionID, from: -1, messages: map[session.MessageID]bool{}}
			by[e.SessionID] = c
			out = append(out, c)
		}
		if c.Whole { // nothing can be added
			continue
		}
		d, err := session.DecodeData(e.Kind, e.Version, e.Data)
		if err != nil {
			c.Whole = true
			continue
		}
		c.add(e.Seq, d)
	}
	return out
}

// add adds what an event changes. Events of rare kinds, and unknown ones, change the whole session.
func (c *Change) add(seq int64, d session.EventData) {
	if turn := session.ChangedTurn(d); turn != "" {
		c.messages[turn] = true
		return
	}
	switch d := d.(type) {
	case *session.StepStarted:
		c.addFrom(seq)
		c.messages[d.ParentID] = true
	case *session.Prompted, *session.SyntheticAdded, *session.ShellStarted, *session.MessageImported:
		c.addFrom(seq)
	case *session.ShellEnded:
		c.calls = append(c.calls, d.CallID)
	case *session.DiffUpdated:
		c.messages[d.MessageID] = true
		c.Diff = d
	case *session.MessageEdited:
		c.messages[d.MessageID] = true
	case *session.PromptAdmitted, *session.InputEdited, *session.InputReordered, *session.InputRedirected,
		*session.CompactionAdmitted, *session.CompactionStarted,
		*session.AgentSwitched, *session.ModelSwitched, *session.Renamed, *session.Summarized, *session.Archived,
		*session.Shared, *session.Tagged,
		*session.PermissionSet, *session.BudgetSet, *session.TodosSet, *session.MetadataSet, *session.ContextUpdated,
		*session.ContextEntrySet, *session.InstructionDiscovered, *session.ContextBased, *session.PermissionAsked,
		*session.PermissionReplied, *session.Retried, *session.Interrupted, *session.JobStarted, *session.JobEnded,
		*session.FilesWriting, *session.TreeCaptured, *session.TreeChanged:
		// The session and what waits in its inbox are written in any case.
	default:
		c.Whole = true
	}
}

func (c *Change) addFrom(seq int64) {
	if c.from < 0 || seq < c.from {
		c.from = seq
	}
}
