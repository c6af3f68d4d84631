package admit

import (
	"cmp"
	"slices"

	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// CopyEnd says where a copy ends. The zero value copies everything.
type CopyEnd struct {
	Before session.MessageID // the first message that is not copied; "" for all
	PartID session.PartID    // a part of Before, a turn: the parts before it are copied as an interrupted turn
}

// Copy is the content of a fork.
type Copy struct {
	Source  *session.Session
	Info    session.Session  // of the fork; the caller sets Slug, Version, Time and Changes
	Changes []eventlog.Draft // the events that follow the messages
	Until   int64            // when the first message that is not copied was created, Unix milliseconds; 0 without one

	messages []eventlog.Draft // the events that follow its creation; they are made while they are appended
	count    int              // of the messages
}

// ListDrafts returns the events of the fork.
func (c *Copy) ListDrafts() []eventlog.Draft {
	created := &session.Created{Info: c.Info, Copied: int64(c.count)}
	return slices.Concat(eventlog.NewDrafts(created), c.messages, c.Changes)
}

// CopyRequest asks for a copy of the session From.
type CopyRequest struct {
	From session.ID
	To   session.ID   // of the fork
	IDs  *session.IDs // for the messages and parts of the fork
	End  CopyEnd
}

// ReadCopy reads the session up to the end and returns the copy, which it does not store. An unknown session, message
// or part is a *session.Error of code not-found.
func ReadCopy(r store.Reader, q CopyRequest) (*Copy, error) {
	s, err := store.FindSession(r, q.From)
	if err != nil {
		return nil, err
	}
	out := &Copy{Source: s}
	ms, err := out.readMessages(r, q.End)
	if err != nil {
		return nil, err
	}
	c, err := newCopier(q.IDs, q.To, ms)
	if err != nil {
		return nil, err
	}
	drafts, wait := c.copyMessages(ms)
	out.messages, out.count = drafts, len(ms)
	if err := c.copyChanges(r, out, wait); err != nil {
		return nil, err
	}
	out.Info = c.describeFork(s, q.End)
	return out, nil
}

// readMessages reads the messages before the end, or before those that a staged revert hides if they come first, with
// the turn that is cut there. It sets Until.
func (out *Copy) readMessages(r store.Reader, end CopyEnd) ([]sourceMessage, error) {
	// Find the end: that of the request, or of the staged revert if it comes first.
	before, part, err := findEnd(r, out.Source.ID, end)
	if err != nil {
		return nil, err
	}
	if hidden := out.Source.Revert; hidden != nil && !hidden.FilesOnly {
		staged, first, err := findEnd(r, out.Source.ID, CopyEnd{Before: hidden.MessageID, PartID: hidden.PartID})
		if err != nil {
			return nil, err
		}
		if first == "" && !hidden.Exclusive {
			staged++
		}
		if before == 0 || staged < before {
			before, part = staged, first
		}
	}
	// Read up to the end, with the message that is cut there.
	limit := before
	if part != "" {
		limit++
	}
	rows, err := store.ReadRawMessages(r, out.Source.ID, store.MessageQuery{After: -1, Before: limit})
	if err != nil {
		return nil, err
	}
	ms := make([]sourceMessage, len(rows))
	for i, row := range rows {
		ms[i].row = row
		if row.Seq == before {
			ms[i].cut = part
		}
	}
	// Until is when the first message that is left out was made: approvals of later are not copied.
	if before > 0 {
		next, err := store.ReadMessages(r, out.Source.ID, store.MessageQuery{After: before - 1, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(next) > 0 {
			out.Until = next[0].Meta().Time.Created
		}
	}
	return ms, nil
}

// findEnd returns the seq of the first message that is not copied whole, 0 if all are, and the part at which it is cut;
// "" if nothing of it is copied.
func findEnd(r store.Reader, id session.ID, end CopyEnd) (seq int64, part session.PartID, err error) {
	if end.Before == "" {
		return 0, "", nil
	}
	m, err := undo.FindMessage(r, id, end.Before)
	if err != nil {
		return 0, "", err
	}
	if m == nil {
		return 0, "", session.NotFound("message", string(end.Before))
	}
	if end.PartID == "" {
		return m.Meta().Seq, "", nil
	}
	a, ok := m.(*session.Assistant)
	if !ok || !slices.ContainsFunc(a.Content, func(c session.Content) bool { return c.ItemID() == end.PartID }) {
		return 0, "", session.NotFound("part", string(end.PartID))
	}
	if a.Content[0].ItemID() == end.PartID {
		return m.Meta().Seq, "", nil // the turn would be empty
	}
	return m.Meta().Seq, end.PartID, nil
}

// copyChanges adds the events that record what the calls of the copied messages changed in files. A failed call has no
// event of its own in a fork, so its changes are marked instead. wait waits for the messages, if there are changes.
func (c *copier) copyChanges(r store.Reader, out *Copy, wait func()) error {
	events, err := eventlog.DecodeAll(r.Events(
		out.Source.ID, -1, 0,
		session.KindFilesWriting, session.KindTreeCaptured, session.KindTreeChanged, session.KindToolFailed,
	))
	if err != nil || len(events) == 0 {
		return err
	}
	wait()
	writes := map[session.PartID]*session.FilesWriting{}
	for _, e := range events {
		if failed, ok := e.Data.(*session.ToolFailed); ok {
			if w := writes[c.parts[failed.PartID]]; w != nil {
				w.Failed = true
			}
			continue
		}
		if w, ok := c.renameChange(e.Data); ok {
			if w != nil {
				writes[w.PartID] = w
			}
			e.Data.Stamp().SessionID = ""
			out.Changes = append(out.Changes, eventlog.Draft{Data: e.Data})
		}
	}
	return nil
}

// renameChange gives an event that records changes of a call the ids of the fork. It reports whether the call is
// copied, and returns the event if it is a FilesWriting.
func (c *copier) renameChange(d session.EventData) (*session.FilesWriting, bool) {
	rename := func(m, prompt *session.MessageID, part *session.PartID) bool {
		fresh, ok := c.parts[*part]
		if c.messages[*m] == "" || *part != "" && !ok {
			return false
		}
		c.renameMessage(m)
		c.renameMessage(prompt)
		*part = fresh
		return true
	}
	switch d := d.(type) {
	case *session.FilesWriting:
		return d, rename(&d.MessageID, &d.PromptID, &d.PartID)
	case *session.TreeCaptured:
		return nil, rename(&d.MessageID, &d.PromptID, &d.PartID)
	case *session.TreeChanged:
		return nil, rename(&d.MessageID, &d.PromptID, &d.PartID)
	default:
		return nil, false
	}
}

// describeFork returns the session of the fork of s.
func (c *copier) describeFork(s *session.Session, end CopyEnd) session.Session {
	out := session.Session{
		ID: c.to, ProjectID: s.ProjectID, RecordID: s.RecordID, Agent: s.Agent, Model: s.Model,
		Title: NumberTitle(s.Title), TitledBy: "user",
		Location: s.Location, Subpath: s.Subpath, Permission: s.Permission, Open: s.Open, Contract: s.Contract,
		Budget: s.Budget, Sandbox: s.Sandbox, Metadata: s.Metadata, Nested: s.Nested, Entries: s.Entries,
		Timezone: s.Timezone,
		Fork:     &session.Fork{From: s.ID, Before: end.Before, PartID: end.PartID},
	}
	if s.Fork != nil {
		out.Fork.Root = cmp.Or(s.Fork.Root, s.Fork.From)
	}
	for _, x := range s.Excluded {
		if x.Through = c.mapSeq(x.Through+1) - 1; x.Through > 0 {
			out.Excluded = append(out.Excluded, x)
		}
	}
	return out
}
