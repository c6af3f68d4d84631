package mirror

import (
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// change says what of a session must be written again. The session's own value always is.
type change struct {
	id       session.ID
	whole    bool  // all messages; those that are not there any more are removed
	from     int64 // messages with this seq or a later one; -1: none
	messages map[session.MessageID]bool
	calls    []string             // of user commands
	diff     *session.DiffUpdated // the newest one
}

// collectChanges returns the changes that the events mean, one a session, in the order of their first events.
func collectChanges(events []store.EventRow) []*change {
	var out []*change
	by := map[session.ID]*change{}
	for i := range events {
		e := &events[i]
		c := by[e.SessionID]
		if c == nil {
			c = &change{id: e.SessionID, from: -1, messages: map[session.MessageID]bool{}}
			by[e.SessionID] = c
			out = append(out, c)
		}
		if c.whole { // nothing can be added
			continue
		}
		d, err := session.DecodeData(e.Kind, e.Version, e.Data)
		if err != nil {
			c.whole = true
			continue
		}
		c.add(e.Seq, d)
	}
	return out
}

// add adds what an event changes. Events of rare kinds, and unknown ones, change the whole session.
func (c *change) add(seq int64, d session.EventData) {
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
		c.diff = d
	case *session.MessageEdited:
		c.messages[d.MessageID] = true
	case *session.PromptAdmitted, *session.InputEdited, *session.InputReordered, *session.InputRedirected,
		*session.CompactionAdmitted, *session.CompactionStarted,
		*session.AgentSwitched, *session.ModelSwitched, *session.Renamed, *session.Summarized, *session.Archived,
		*session.Tagged,
		*session.PermissionSet, *session.BudgetSet, *session.TodosSet, *session.MetadataSet, *session.ContextUpdated,
		*session.ContextEntrySet, *session.InstructionDiscovered, *session.ContextBased, *session.PermissionAsked,
		*session.PermissionReplied, *session.Retried, *session.Interrupted, *session.JobStarted, *session.JobEnded,
		*session.FilesWriting, *session.TreeCaptured, *session.TreeChanged:
		// The session and what waits in its inbox are written in any case.
	default:
		c.whole = true
	}
}

func (c *change) addFrom(seq int64) {
	if c.from < 0 || seq < c.from {
		c.from = seq
	}
}
