package changes

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Call is the call of a turn whose changes are recorded.
type Call struct {
	SessionID session.ID
	MessageID session.MessageID // of the turn
	PromptID  session.MessageID // which the turn answers
	PartID    session.PartID
	CallID    string
}

// CallChange is the recorded change of one file by a call.
type CallChange struct {
	Call
	session.FileChange
	Beside []session.ID // sessions whose commands ran at the same time
	Failed bool         // the call failed, so it need not have made the change
}

// Gap is a call whose changes are not known.
type Gap struct {
	Call
	Reason string
}

// Ledger is what the calls of a session changed, in order.
type Ledger struct {
	Changes []CallChange
	Gaps    []Gap

	edits  int                 // of the session, as of the last time that removed messages were left out
	seq    int64               // of the newest event that is read
	open   map[string]Gap      // captures before commands that have not ended, by call
	counts map[[2]string]lines // of differences between two contents
}

type lines struct{ additions, deletions int }

// NewLedger returns a ledger without entries.
func NewLedger() *Ledger {
	return &Ledger{seq: -1, open: map[string]Gap{}, counts: map[[2]string]lines{}}
}

// ReadLedger returns what is recorded of the session after the seq.
func ReadLedger(ctx context.Context, st store.Store, id session.ID, after int64) (*Ledger, error) {
	l := NewLedger()
	l.seq = after
	if err := l.readNew(ctx, st, id); err != nil {
		return nil, err
	}
	for _, call := range slices.Sorted(maps.Keys(l.open)) {
		g := l.open[call]
		g.Reason = "it was interrupted"
		l.Gaps = append(l.Gaps, g)
	}
	return l, nil
}

// readNew reads what was recorded since.
func (l *Ledger) readNew(ctx context.Context, st store.Store, id session.ID) error {
	var events []session.Event
	err := st.View(ctx, func(r store.Reader) error {
		rows, err := r.Events(id, l.seq, 0, session.KindFilesWriting, session.KindTreeCaptured, session.KindTreeChanged,
			session.KindToolFailed)
		if err != nil {
			return err
		}
		events = events[:0]
		for _, row := range rows {
			e, err := eventlog.Decode(row)
			if err != nil {
				return err
			}
			events = append(events, e)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the changes of session %s: %w", id, err)
	}
	for _, e := range events {
		l.seq = e.Seq
		l.AddEvent(id, e.Data)
	}
	return nil
}

// AddEvent adds what the event records of the session; nothing for other events.
func (l *Ledger) AddEvent(id session.ID, d session.EventData) {
	switch d := d.(type) {
	case *session.FilesWriting:
		for _, f := range d.Files {
			call := Call{id, d.MessageID, d.PromptID, d.PartID, d.CallID}
			l.Changes = append(l.Changes, CallChange{Call: call, FileChange: f, Failed: d.Failed})
		}
	case *session.ToolFailed:
		for i := len(l.Changes) - 1; i >= 0 && l.Changes[i].MessageID == d.AssistantMessageID; i-- {
			if l.Changes[i].CallID == d.CallID {
				l.Changes[i].Failed = true
			}
		}
	case *session.TreeCaptured:
		g := Gap{Call{id, d.MessageID, d.PromptID, d.PartID, d.CallID}, d.Error}
		if d.Error != "" {
			l.Gaps = append(l.Gaps, g)
			return
		}
		l.open[d.CallID] = g
	case *session.TreeChanged:
		delete(l.open, d.CallID)
		c := Call{id, d.MessageID, d.PromptID, d.PartID, d.CallID}
		if d.Error != "" {
			l.Gaps = append(l.Gaps, Gap{c, d.Error})
		}
		for _, name := range d.Omitted {
			l.Gaps = append(l.Gaps, Gap{c, fmt.Sprintf("it changed %s, which is too large or cannot be read", name)})
		}
		for _, f := range d.Files {
			l.Changes = append(l.Changes, CallChange{Call: c, FileChange: f, Beside: d.Beside})
		}
	}
}

// SumChanges returns the change of each file from before the first to after the last of the selected changes, by path.
// Files that are as before are left out.
func (l *Ledger) SumChanges(selected func(CallChange) bool) []session.FileChange {
	byPath := l.sumSelected(selected)
	var out []session.FileChange
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		if net := byPath[path]; net.Before != net.After {
			out = append(out, net)
		}
	}
	return out
}

// sumSelected returns the change of each file from before the first to after the last of the selected changes.
func (l *Ledger) sumSelected(selected func(CallChange) bool) map[session.FilePath]session.FileChange {
	byPath := map[session.FilePath]session.FileChange{}
	for _, c := range l.Changes {
		if c.Failed || !selected(c) {
			continue
		}
		net, ok := byPath[c.Path]
		if !ok {
			net = c.FileChange
		}
		net.After = c.After
		byPath[c.Path] = net
	}
	return byPath
}

// CompareTo returns what differs between the files as two sessions left them, from the base's to those of l. A file
// that only one of them changed was before that as the other one knows it.
func (l *Ledger) CompareTo(base *Ledger) []session.FileChange {
	sides := [2]map[session.FilePath]session.FileChange{base.sumPaths(), l.sumPaths()}
	paths := map[session.FilePath]bool{}
	for _, side := range sides {
		for p := range side {
			paths[p] = true
		}
	}
	var out []session.FileChange
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		from, inBase := sides[0][path]
		to, changed := sides[1][path]
		net := session.FileChange{Path: path, Before: from.After, After: to.After}
		if !inBase {
			net.Before = to.Before
		}
		if !changed {
			net.After = from.Before
		}
		if net.Before != net.After {
			out = append(out, net)
		}
	}
	return out
}

func (l *Ledger) sumPaths() map[session.FilePath]session.FileChange {
	return l.sumSelected(func(CallChange) bool { return true })
}

// ListBlobs returns the contents of both sides of all changes.
func (l *Ledger) ListBlobs() []string {
	var all []session.FileChange
	for _, c := range l.Changes {
		all = append(all, c.FileChange)
	}
	return blobsOf(all)
}

// blobsOf returns the contents of both sides of the changes.
func blobsOf(changes []session.FileChange) (out []string) {
	for _, c := range changes {
		for _, s := range []session.PathState{c.Before, c.After} {
			if s.Blob != "" && s.Mode != session.ModeSubmodule {
				out = append(out, s.Blob)
			}
		}
	}
	return out
}

// LastLeft reports whether the newest recorded change of the path left the state.
func (l *Ledger) LastLeft(path session.FilePath, state session.PathState) bool {
	for _, c := range slices.Backward(l.Changes) {
		if c.Path == path && !c.Failed {
			return c.After == state
		}
	}
	return false
}
