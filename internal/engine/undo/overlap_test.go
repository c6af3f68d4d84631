package undo

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cairn-dev/cairn/internal/session"
)

// RV-12: a change is late only if no other command or file tool of the work left the file in the same state: a change
// that was recorded late may be that of a call beside it.
func TestLateChangeOfCallBeside(t *testing.T) {
	state := func(blob string) session.PathState { return session.PathState{Blob: blob, Mode: session.ModeFile} }
	change := func(from, to string) []session.FileChange {
		return []session.FileChange{{Path: "f", Before: state(from), After: state(to)}}
	}
	slow := &session.TreeChanged{CallID: "slow", Files: change("old", "new"), Late: []session.FilePath{"f"}}
	begin := func(call string) session.EventData { return &session.TreeCaptured{CallID: call} }
	for name, c := range map[string]struct {
		events []session.EventData
		want   bool
	}{
		"alone": {[]session.EventData{begin("slow"), slow}, true},
		"of a command": {[]session.EventData{
			begin("slow"), begin("quick"), &session.TreeChanged{CallID: "quick", Files: change("old", "new")}, slow,
		}, false},
		"of a file tool": {[]session.EventData{
			begin("slow"), &session.FilesWriting{CallID: "write", Files: change("changed", "new")}, slow,
		}, false},
		"after a command": {[]session.EventData{
			begin("slow"), begin("quick"), &session.TreeChanged{CallID: "quick", Files: change("old", "else")}, slow,
		}, true},
		"before the end of a command": {[]session.EventData{
			begin("slow"), begin("longer"), slow, &session.TreeChanged{CallID: "longer", Files: change("old", "else")},
		}, false},
	} {
		ledger := NewLedger()
		for i, e := range c.events {
			ledger.AddEvent("ses_a", int64(i+1), e)
		}
		found := ledger.SelectChanges(func(CallChange) bool { return true })
		var late []bool
		for _, f := range found {
			late = append(late, f.Late)
		}
		if diff := cmp.Diff([]bool{c.want}, late); diff != "" {
			t.Errorf("%s: the changes are late -want +got:\n%s", name, diff)
		}
	}
}

// RV-11: a change by a command is not shared with another session of the work that only wrote files just before the
// command began.
func TestWriteBeforeCommandOfTheSameWork(t *testing.T) {
	change := func(path session.FilePath) []session.FileChange {
		return []session.FileChange{{Path: path, After: session.PathState{Blob: "new", Mode: session.ModeFile}}}
	}
	for name, c := range map[string]struct {
		inTree bool
		want   []session.ID
	}{
		"of the same work":   {true, nil},
		"of another session": {false, []session.ID{"ses_b"}},
	} {
		writer, ledger := NewLedger(), NewLedger()
		writer.AddEvent("ses_b", 1, &session.FilesWriting{CallID: "write", Files: change("written")})
		ledger.AddEvent("ses_a", 2, &session.TreeCaptured{CallID: "command"})
		ledger.AddEvent("ses_a", 3, &session.TreeChanged{
			CallID: "command", Files: change("f"), Beside: []session.ID{"ses_b"},
		})
		ledger.beside = map[session.ID]*Ledger{"ses_b": writer}
		ledger.tree = map[session.ID]bool{"ses_a": true, "ses_b": c.inTree}
		found := ledger.SelectChanges(func(CallChange) bool { return true })
		if len(found) != 1 {
			t.Fatalf("%s: the changes are %+v", name, found)
		}
		if diff := cmp.Diff(c.want, found[0].Beside, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: the sessions beside are -want +got:\n%s", name, diff)
		}
	}
}

// RV-13: a file that two commands changed at the same time has the permissions that either of them found.
func TestPermissionsOfJoinedChanges(t *testing.T) {
	before := session.PathState{Blob: "old", Mode: session.ModeFile}
	edited := session.FileChange{Path: "f", Before: before, After: session.PathState{Blob: "new", Mode: session.ModeFile}}
	removed := session.FileChange{Path: "f", Before: before, Perm: 0o600}
	ledger := NewLedger()
	for i, e := range []session.EventData{
		&session.TreeCaptured{CallID: "edit"},
		&session.TreeCaptured{CallID: "remove"},
		&session.TreeChanged{CallID: "edit", Files: []session.FileChange{edited}},
		&session.TreeChanged{CallID: "remove", Files: []session.FileChange{removed}},
	} {
		ledger.AddEvent("ses_a", int64(i+1), e)
	}
	found := ledger.SelectChanges(func(CallChange) bool { return true })
	if len(found) != 1 || found[0].FileChange != removed {
		t.Errorf("the changes are %+v, want %+v", found, removed)
	}
}
