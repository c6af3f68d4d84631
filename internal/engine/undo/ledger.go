package undo

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
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
	// Origin is the call of the ledger's session for which the change was made: that of the tool task if a subagent made
	// it, else Call.
	Origin Call
	session.FileChange
	By     []session.ID // the sessions of subagents that made the change, or took part in it
	Beside []session.ID // other sessions whose commands ran at the same time and may have made the change
	Failed bool         // the call failed, before or after it made the change
	Late   bool         // the user may have made the change after the command ended (session.TreeChanged)
	// Guarded reports that the file is protected, and that a command, or what ran beside it, made the change. A command
	// needs an approval to change such a file, but no approval names a state that its jobs leave for a moment, and that
	// a later command removes: returning to it would need none.
	Guarded bool

	interval // in which the change was made: an instant for a write of a file tool
}

// Gap is a call some of whose changes are not known.
type Gap struct {
	Call
	Origin Call   // see CallChange
	Reason string // for people, about the call: "it changed …"
}

// Ledger holds what the calls of a session changed, in the order of the log. It is a cache: the events have all of it.
// Not safe for concurrent use.
type Ledger struct {
	Changes []CallChange
	Gaps    []Gap

	edits    int                 // Session.Edits when the changes of removed messages were removed last
	seq      int64               // of the newest event that was read
	commands []*command          // in the order of their starts
	counts   map[[2]string]lines // of the difference between two contents, by their blobs
	tasks    taskIndex

	// In a merged ledger: the sessions whose changes it has, and the commands of those in Beside of the changes, nil for a
	// deleted session.
	tree   map[session.ID]bool
	beside map[session.ID]*Ledger
}

// taskIndex holds the calls of the tool task of a session, by the prompts of their work.
type taskIndex struct {
	seq     int64 // of the newest event that was read
	calls   map[session.MessageID]Call
	prompts map[session.MessageID]session.MessageID // by turn, which the turn answers
}

// command is a call that may change any file.
type command struct {
	Call
	origin    Call
	interval                            // from one capture to the other; end is 0 without the second one
	limit     int64                     // without end: position at which a later turn began a command; 0 if none did
	paths     map[session.FilePath]bool // that it changed
	transient []session.FileChange      // see session.TreeChanged
	failed    bool                      // what it changed is not known
}

// wholeInterval returns the interval of the command, also if its end is not recorded.
func (c *command) wholeInterval() interval {
	return interval{c.start, cmp.Or(c.end, c.limit, math.MaxInt64)}
}

// interval is the time between two positions in the store.
type interval struct{ start, end int64 }

// isInstant reports whether the interval is one position.
func (v interval) isInstant() bool { return v.start == v.end }

// contains reports whether the position is inside of the interval.
func (v interval) contains(position int64) bool { return v.start < position && position < v.end }

// isAround reports whether the other interval begins and ends inside of the interval.
func (v interval) isAround(other interval) bool { return v.start < other.start && other.end < v.end }

// isBeside reports whether the intervals have time in common.
func (v interval) isBeside(other interval) bool { return v.start < other.end && other.start < v.end }

// lines are the numbers of lines of a difference.
type lines struct{ additions, deletions int }

// NewLedger returns a ledger without entries.
func NewLedger() *Ledger {
	return &Ledger{seq: -1, counts: map[[2]string]lines{}, tasks: taskIndex{seq: -1}}
}

// ReadLedger reads what is recorded of the session.
func ReadLedger(ctx context.Context, st store.Store, id session.ID) (*Ledger, error) {
	l := NewLedger()
	return l, l.readNew(ctx, st, id)
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
		l.AddEvent(id, e.Position, e.Data)
	}
	return nil
}

// AddEvent adds what an event of the session, at this position in the store, records. Events of other kinds add
// nothing.
func (l *Ledger) AddEvent(id session.ID, position int64, d session.EventData) {
	switch d := d.(type) {
	// A tool that names its files: the change is known before it is made.
	case *session.FilesWriting:
		call := Call{id, d.MessageID, d.PromptID, d.PartID, d.CallID}
		for _, f := range d.Files {
			l.Changes = append(l.Changes, CallChange{
				Call: call, Origin: call, FileChange: f, Failed: d.Failed, interval: interval{position, position},
			})
		}
	// A call that failed may have changed less than it announced.
	case *session.ToolFailed:
		for i := len(l.Changes) - 1; i >= 0 && l.Changes[i].MessageID == d.AssistantMessageID; i-- {
			if l.Changes[i].CallID == d.CallID {
				l.Changes[i].Failed = true
			}
		}
	// A command: its changes are found by comparing the tree before and after it.
	case *session.TreeCaptured: // a command of another turn ends those without an end
		call := Call{id, d.MessageID, d.PromptID, d.PartID, d.CallID}
		for _, c := range l.commands {
			if c.MessageID != call.MessageID && c.end == 0 && c.limit == 0 {
				c.limit = position
			}
		}
		ran := &command{Call: call, origin: call, failed: d.Error != ""}
		ran.start = position
		l.commands = append(l.commands, ran)
		if d.Error != "" {
			l.Gaps = append(l.Gaps, Gap{call, call, d.Error})
		}
	case *session.TreeChanged:
		l.addTreeChange(Call{id, d.MessageID, d.PromptID, d.PartID, d.CallID}, position, d)
	}
}

// addTreeChange adds what the command of the call changed.
func (l *Ledger) addTreeChange(c Call, position int64, d *session.TreeChanged) {
	ran := l.findCommand(c)
	ran.end, ran.failed, ran.paths = position, d.Error != "", map[session.FilePath]bool{}
	ran.transient = d.Transient
	if d.Error != "" {
		l.Gaps = append(l.Gaps, Gap{c, c, d.Error})
	}
	for _, name := range d.Omitted {
		reason := fmt.Sprintf("it changed %s, which no snapshot has: it is large, was ignored or elsewhere, "+
			"cannot be read, or is a repository of its own", name)
		l.Gaps = append(l.Gaps, Gap{c, c, reason})
	}
	for _, f := range d.Files {
		ran.paths[f.Path] = true
		l.Changes = append(l.Changes, CallChange{
			Call: c, Origin: c, FileChange: f, Beside: d.Beside, interval: interval{cmp.Or(ran.start, position), position},
			Late: slices.Contains(d.Late, f.Path), Guarded: permission.ProtectedName(string(f.Path)) != "",
		})
	}
}

// findCommand returns the newest command of the call, or a new one that is not in the ledger.
func (l *Ledger) findCommand(c Call) *command {
	for _, ran := range slices.Backward(l.commands) {
		if ran.Call == c {
			return ran
		}
	}
	return &command{Call: c, origin: c}
}

// closeCommands makes gaps of the commands whose end is not recorded.
func (l *Ledger) closeCommands() {
	for _, c := range l.commands {
		if c.end == 0 && !c.failed {
			l.Gaps = append(l.Gaps, Gap{c.Call, c.origin, "cairn ended before it had recorded what the call changed"})
		}
	}
}

// sumChanges returns the change of each file from before the first to after the last of the changes.
func sumChanges(found []CallChange) map[session.FilePath]session.FileChange {
	byPath := map[session.FilePath]session.FileChange{}
	for _, c := range found {
		if !c.Failed {
			addChange(byPath, c.FileChange)
		}
	}
	return byPath
}

// nameAuthors sets By and Shared of the files, which the changes changed.
func nameAuthors(files []session.ChangedFile, found []CallChange) {
	by, shared := map[session.FilePath][]session.ID{}, map[session.FilePath][]session.ID{}
	for _, c := range found {
		by[c.Path] = AddIDs(by[c.Path], c.By)
		shared[c.Path] = AddIDs(shared[c.Path], c.Beside)
	}
	for i, f := range files {
		files[i].By, files[i].Shared = by[f.Path], shared[f.Path]
	}
}

// AddIDs returns ids with those of more that it lacks.
func AddIDs(ids, more []session.ID) []session.ID {
	for _, id := range more {
		if !slices.Contains(ids, id) {
			ids = append(slices.Clip(ids), id)
		}
	}
	return ids
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

// ListBlobs returns the blobs of both sides of all changes and transient states, some of them repeatedly.
func (l *Ledger) ListBlobs() []string {
	var all []session.FileChange
	for _, c := range l.Changes {
		all = append(all, c.FileChange)
	}
	for _, ran := range l.commands {
		all = append(all, ran.transient...)
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
