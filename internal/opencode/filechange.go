package opencode

import (
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

type (
	// FileEdited belongs to file.edited: a tool wrote a file.
	FileEdited struct {
		File string `json:"file"`
	}
	// FileWatched belongs to file.watcher.updated.
	FileWatched struct {
		File  string `json:"file"`
		Event string `json:"event" enum:"add,change,unlink"`
	}
)

// fileChange is the part of a tool result that names changed files.
type fileChange struct {
	FilePath string `json:"filepath"`
	Exists   bool   `json:"exists"`
	Files    []struct {
		FilePath string `json:"filePath"`
		MovePath string `json:"movePath"`
		Type     string `json:"type"`
	} `json:"files"`
}

// fileChanges announces the files that a call changed. An edit is announced once more as running, with its diff.
func (f *Fold) fileChanges(d *session.ToolSuccess) (out []Event) {
	t, ok := f.turn.Item(d.PartID).(*session.Tool)
	if !ok {
		return nil
	}
	// Each tool records in its own form what it did to files.
	var c fileChange
	if json.Unmarshal(objectOr(t.State.Structured, emptyObject), &c) != nil {
		return nil
	}
	switch t.Name {
	case "edit":
		out = append(fileEvents(c.FilePath, fileEventKind(c.Exists)), f.diffShown(t, d.Timestamp)...)
	case "write":
		out = fileEvents(c.FilePath, fileEventKind(c.Exists))
	case "apply_patch":
		for _, file := range c.Files {
			switch file.Type {
			case "add":
				out = append(out, fileEvents(file.FilePath, "add")...)
			case "delete":
				out = append(out, watcherEvent(file.FilePath, "unlink"))
			case "move":
				out = append(append(out, fileEvents(file.MovePath, "add")...), watcherEvent(file.FilePath, "unlink"))
			default:
				out = append(out, fileEvents(file.FilePath, "change")...)
			}
		}
	}
	return out
}

func fileEventKind(existed bool) string {
	if existed {
		return "change"
	}
	return "add"
}

func fileEvents(path, event string) []Event {
	return []Event{{Type: "file.edited", Properties: FileEdited{path}}, watcherEvent(path, event)}
}

func watcherEvent(path, event string) Event {
	return Event{Type: "file.watcher.updated", Properties: FileWatched{path, event}}
}

// diffShown announces the call in the state it had when its diff was known.
func (f *Fold) diffShown(t *session.Tool, at int64) []Event {
	before := *t
	before.State.Status, before.Time.Completed = session.ToolRunning, 0
	m := membersOfObject(before.State.Structured)
	delete(m, "truncated")
	before.State.Structured = objectOf(m)
	for n, c := range f.turn.Content {
		if c == session.Content(t) {
			return []Event{f.partUpdated(itemPart(f.Session.ID, f.turn.ID, n+1, &before), at)}
		}
	}
	return nil
}

// revertEvents converts events about what the session changed and about its revert; ok is false for other events.
func (f *Fold) revertEvents(d session.EventData) (out []Event, ok bool) {
	// An event that clients must not see yet gives no events, but ok is true.
	switch d := d.(type) {
	case *session.DiffUpdated:
		f.diffs = FileDiffsOf(d.Session)
		if f.asked != nil {
			f.asked.Apply(d)
		}
		if f.turn != nil && (f.turn.Open() || f.turn.Next().NeedsTurn()) { // announced with the next turn
			return nil, true
		}
		return f.summaryEvents(), true
	case *session.RevertStaged, *session.RevertAdvanced:
		r := f.Session.Revert
		if r == nil || r.Phase != session.RevertDone { // announced when its files are restored
			return nil, true
		}
		return []Event{f.sessionDiff(revertedDiffs(r)), f.sessionUpdated()}, true
	case *session.RevertCleared:
		if d.Replaced { // clients would show a session without a revert for a moment
			return nil, true
		}
		return []Event{f.sessionUpdated()}, true
	case *session.RevertCommitted:
		for _, m := range d.Removed {
			out = append(out, f.messageRemoved(m))
		}
		return append(out, f.sessionUpdated()), true
	default:
		return nil, false
	}
}

func (f *Fold) sessionDiff(diffs []FileDiff) Event {
	return Event{Type: "session.diff", Properties: Diff{f.Session.ID, diffs}}
}
