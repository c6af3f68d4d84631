// Package fork copies sessions. A fork has the messages of its source up to a point, under ids of its own, and what
// the source's calls changed in files; what a staged revert hides is not copied. Files that messages name, such as
// long outputs of tools, are shared. A fork costs nothing: the ledger has what its messages cost under the source.
package fork

import (
	"cmp"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/engine/revert"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// End says where a copy ends.
type End struct {
	Before session.MessageID // the first message that is not copied; "" for all
	PartID session.PartID    // of Before: the parts before it are copied as an interrupted turn
}

// Copy is what a fork consists of.
type Copy struct {
	Source *session.Session
	Info   session.Session  // of the fork, without what its creator decides
	Drafts []eventlog.Draft // that follow its creation
	Until  int64            // when the first thing that was not copied happened, in milliseconds; 0: everything was copied
}

// Request asks for a copy of the session From.
type Request struct {
	From session.ID
	To   session.ID // of the fork
	IDs  *session.IDs
	End  End
}

// ReadCopy reads the session up to the end and returns the copy. An unknown message or part is a *session.Error of
// code not-found.
func ReadCopy(r store.Reader, q Request) (*Copy, error) {
	from, p := q.From, q.End
	s, err := store.FindSession(r, from)
	if err != nil {
		return nil, err
	}
	out := &Copy{Source: s}
	ms, err := out.readMessages(r, p)
	if err != nil {
		return nil, err
	}
	c := newCopier(q.IDs, q.To, ms)
	for _, m := range ms {
		created := m.Meta().Time.Created
		c.renameIDs(m)
		raw, err := json.Marshal(m, json.Deterministic(true))
		if err != nil {
			return nil, err
		}
		out.Drafts = append(out.Drafts, eventlog.Draft{Data: session.NewMessageImported(m, raw, created)})
	}
	if err := c.copyChanges(r, from, out); err != nil {
		return nil, err
	}
	out.Info = c.describeFork(s, p)
	return out, nil
}

// readMessages reads the messages before the point, and the turn that it cuts.
func (out *Copy) readMessages(r store.Reader, p End) ([]session.Message, error) {
	before, part, err := findEnd(r, out.Source.ID, p)
	if err != nil {
		return nil, err
	}
	if hidden := out.Source.Revert; hidden != nil && !hidden.FilesOnly {
		staged, first, err := findEnd(r, out.Source.ID, End{Before: hidden.MessageID, PartID: hidden.PartID})
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
	end := before
	if part != "" {
		end++
	}
	ms, err := store.ReadMessages(r, out.Source.ID, store.MessageQuery{After: -1, Before: end})
	if err != nil {
		return nil, err
	}
	for _, m := range ms {
		if a, isTurn := m.(*session.Assistant); isTurn {
			at := session.PartID("")
			if m.Meta().Seq == before {
				at = part
			}
			cutTurn(a, at)
		}
	}
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

// findEnd returns the seq of the point's message, 0 without one, and the part at which a turn is cut.
func findEnd(r store.Reader, id session.ID, p End) (seq int64, part session.PartID, err error) {
	if p.Before == "" {
		return 0, "", nil
	}
	m, err := revert.FindMessage(r, id, p.Before)
	if err != nil {
		return 0, "", err
	}
	if m == nil {
		return 0, "", session.NotFound("message", string(p.Before))
	}
	if p.PartID == "" {
		return m.Meta().Seq, "", nil
	}
	a, ok := m.(*session.Assistant)
	if !ok || !slices.ContainsFunc(a.Content, func(c session.Content) bool { return c.ItemID() == p.PartID }) {
		return 0, "", session.NotFound("part", string(p.PartID))
	}
	if a.Content[0].ItemID() == p.PartID {
		return m.Meta().Seq, "", nil // nothing of the turn stays
	}
	return m.Meta().Seq, p.PartID, nil
}

// copyChanges copies what the calls of the copied messages changed in files.
func (c *copier) copyChanges(r store.Reader, from session.ID, out *Copy) error {
	rows, err := r.Events(from, -1, 0, session.KindFilesWriting, session.KindTreeCaptured, session.KindTreeChanged,
		session.KindToolFailed)
	if err != nil {
		return err
	}
	writes := map[session.PartID]*session.FilesWriting{}
	for _, row := range rows {
		e, err := eventlog.Decode(row)
		if err != nil {
			return err
		}
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
			out.Drafts = append(out.Drafts, eventlog.Draft{Data: e.Data})
		}
	}
	return nil
}

// renameChange gives what a call changed the ids of the fork. It reports whether the call is copied, and returns the
// exact changes.
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

// describeFork returns the fork of s.
func (c *copier) describeFork(s *session.Session, p End) session.Session {
	out := session.Session{
		ID: c.to, ProjectID: s.ProjectID, Agent: s.Agent, Model: s.Model, Title: NumberTitle(s.Title), TitledBy: "user",
		Location: s.Location, Subpath: s.Subpath, Permission: s.Permission, Open: s.Open, Contract: s.Contract,
		Budget: s.Budget, Sandbox: s.Sandbox, Metadata: s.Metadata, Nested: s.Nested, Entries: s.Entries,
		Fork: &session.Fork{From: s.ID, Before: p.Before, PartID: p.PartID},
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
