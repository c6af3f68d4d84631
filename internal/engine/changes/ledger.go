package changes

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// Call names a call of a tool, or a command of the user, whose changes are recorded.
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
	Beside []session.ID // other sessions whose commands ran at the same time and may have made the change
	Failed bool         // the call failed, before or after it made the change
	// Guarded reports that the file is protected, and that a command, or what ran beside it, made the change. A command
	// needs an approval to change such a file, but no approval names a state that its jobs leave for a moment, and that
	// a later command removes: returning to it would need none.
	Guarded bool
}

// Gap is a call some of whose changes are not known.
type Gap struct {
	Call
	Reason string // for people, about the call: "it changed …"
}

// Ledger holds what the calls of a session changed, in the order of the log. It is a cache: the events have all of it.
// Not safe for concurrent use.
type Ledger struct {
	Changes []CallChange
	Gaps    []Gap

	edits  int                 // Session.Edits when the changes of removed messages were removed last
	seq    int64               // of the newest event that was read
	open   map[string]Gap      // commands that were captured before and not yet after, by call
	counts map[[2]string]lines // of the difference between two contents, by their blobs
}

// lines are the numbers of lines of a difference.
type lines struct{ additions, deletions int }

// NewLedger returns a ledger without entries.
func NewLedger() *Ledger {
	return &Ledger{seq: -1, open: map[string]Gap{}, counts: map[[2]string]lines{}}
}

// ReadLedger reads what is recorded of the session after the seq, -1 for all. Commands whose end is not recorded are
// gaps.
func ReadLedger(ctx context.Context, st store.Store, id session.ID, after int64) (*Ledger, error) {
	l := NewLedger()
	l.seq = after
	if err := l.readNew(ctx, st, id); err != nil {
		return nil, err
	}
	for _, call := range slices.Sorted(maps.Keys(l.open)) {
		g := l.open[call]
		g.Reason = "cairn ended before it had recorded what the call changed"
		l.Gaps = append(l.Gaps, g)
	}
	return l, nil
}

// readNew adds the changes that were recorded since the ledger was last read.
func (l *Ledger) readNew(ctx context.Context, st store.Store, id session.ID) error {
	events, err := store.Query(ctx, st, func(r store.Reader) ([]session.Event, error) {
		return eventlog.DecodeAll(r.Events(
			id, l.seq, 0,
			session.KindFilesWriting, session.KindTreeCaptured, session.KindTreeChanged, session.KindToolFailed,
		))
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

// AddEvent adds what an event of the session records. Events of other kinds add nothing.
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
			reason := fmt.Sprintf("it changed %s, which no snapshot has: it is large, was ignored or elsewhere, "+
				"cannot be read, or is a "+
				"repository of its own", name)
			l.Gaps = append(l.Gaps, Gap{c, reason})
		}
		for _, f := range d.Files {
			l.Changes = append(l.Changes, CallChange{
				Call: c, FileChange: f, Beside: d.Beside, Guarded: permission.ProtectedName(string(f.Path)) != "",
			})
		}
	}
}

// SumChanges returns the change of each file from before the first to after the last of the selected changes, by path.
// Files that are as before are left out.
func (l *Ledger) SumChanges(selected func(CallChange) bool) []session.FileChange {
	return dropUnchanged(l.sumSelected(selected))
}

// sumSelected returns the change of each file from before the first to after the last of the selected changes.
func (l *Ledger) sumSelected(selected func(CallChange) bool) map[session.FilePath]session.FileChange {
	byPath := map[session.FilePath]session.FileChange{}
	for _, c := range l.Changes {
		if !c.Failed && selected(c) {
			addChange(byPath, c.FileChange)
		}
	}
	return byPath
}

// addChange adds a later change to the sums of earlier ones.
func addChange(byPath map[session.FilePath]session.FileChange, c session.FileChange) {
	if earlier, ok := byPath[c.Path]; ok {
		c.Before = earlier.Before
	}
	byPath[c.Path] = c
}

// dropUnchanged returns the changes by path without the files that are as before.
func dropUnchanged(byPath map[session.FilePath]session.FileChange) (out []session.FileChange) {
	for _, path := range slices.Sorted(maps.Keys(byPath)) {
		if net := byPath[path]; net.Before != net.After {
			out = append(out, net)
		}
	}
	return out
}

// compareSums returns the changes that lead from the files as base left them to those that to left, by path.
func compareSums(base, to map[session.FilePath]session.FileChange) (out []session.FileChange) {
	paths := maps.Clone(base)
	maps.Copy(paths, to)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		before, inBase := base[path]
		after, inOther := to[path]
		net := session.FileChange{Path: path, Before: before.After, After: after.After}
		if !inBase {
			net.Before = after.Before
		}
		if !inOther {
			net.After = before.Before
		}
		if net.Before != net.After {
			out = append(out, net)
		}
	}
	return out
}

// ListBlobs returns the blobs of both sides of all changes, some of them repeatedly.
func (l *Ledger) ListBlobs() []string {
	var all []session.FileChange
	for _, c := range l.Changes {
		all = append(all, c.FileChange)
	}
	return blobsOf(all)
}

// blobsOf returns the blobs of both sides of the changes.
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

// IsLastState reports whether the newest change of the path that did not fail made the state.
func (l *Ledger) IsLastState(path session.FilePath, state session.PathState) bool {
	for _, c := range slices.Backward(l.Changes) {
		if c.Path == path && !c.Failed {
			return c.After == state
		}
	}
	return false
}
