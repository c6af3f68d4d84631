package opencode

import (
	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/session"
)

type (
	// FileEdited is of file.edited: a tool wrote a file.
	FileEdited struct {
		File string `json:"file"`
	}
	// FileWatched is of file.watcher.updated: what happened to a file.
	FileWatched struct {
		File  string `json:"file"`
		Event string `json:"event" enum:"add,change,unlink"`
	}
)

// changed is what tools that change files say of them.
type changed struct {
	FilePath string `json:"filepath"`
	Exists   bool   `json:"exists"`
	Files    []struct {
		FilePath string `json:"filePath"`
		MovePath string `json:"movePath"`
		Type     string `json:"type"`
	} `json:"files"`
}

// changes tells which files a call has changed. That of an edit is shown once more as running, with its diff.
func (f *Fold) changes(d *session.ToolSuccess) (out []Event) {
	t, ok := f.turn.Item(d.PartID).(*session.Tool)
	if !ok {
		return nil
	}
	var c changed
	if json.Unmarshal(objectOr(t.State.Structured, emptyObject), &c) != nil {
		return nil
	}
	switch t.Name {
	case "edit":
		out = append(fileEvents(c.FilePath, added(c.Exists)), f.diffed(t, d.Timestamp)...)
	case "write":
		out = fileEvents(c.FilePath, added(c.Exists))
	case "apply_patch":
		for _, file := range c.Files {
			switch file.Type {
			case "add":
				out = append(out, fileEvents(file.FilePath, "add")...)
			case "delete":
				out = append(out, watched(file.FilePath, "unlink"))
			case "move":
				out = append(append(out, fileEvents(file.MovePath, "add")...), watched(file.FilePath, "unlink"))
			default:
				out = append(out, fileEvents(file.FilePath, "change")...)
			}
		}
	}
	return out
}

func added(existed bool) string {
	if existed {
		return "change"
	}
	return "add"
}

func fileEvents(path, event string) []Event {
	return []Event{{Type: "file.edited", Properties: FileEdited{path}}, watched(path, event)}
}

func watched(path, event string) Event {
	return Event{Type: "file.watcher.updated", Properties: FileWatched{path, event}}
}

// diffed shows the call as it was when its diff was known.
func (f *Fold) diffed(t *session.Tool, at int64) []Event {
	before := *t
	before.State.Status, before.Time.Completed = session.ToolRunning, 0
	m := members(before.State.Structured)
	delete(m, "truncated")
	before.State.Structured = object(m)
	for n, c := range f.turn.Content {
		if c == session.Content(t) {
			return []Event{f.part(itemPart(f.Session.ID, f.turn.ID, n+1, &before), at)}
		}
	}
	return nil
}
