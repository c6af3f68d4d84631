package undo

import (
	"reflect"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// RV-2: a revert does not remove what the command of another session may have written, also where the session changed
// the file later.
func TestPlanBeside(t *testing.T) {
	state := func(blob string) session.PathState { return session.PathState{Blob: blob, Mode: session.ModeFile} }
	change := func(from, to string, beside ...session.ID) CallChange {
		return CallChange{
			FileChange: session.FileChange{Path: "f", Before: state(from), After: state(to)}, Beside: beside,
		}
	}
	both := change("user", "theirs", "ses_b") // by a command of either session
	for _, c := range []struct {
		name  string
		chain []CallChange
		now   string
		force bool
		want  filePlan
	}{
		{"newest", []CallChange{both}, "theirs", false, filePlan{to: state("user"), conflict: reasonBeside}},
		{
			"below an edit",
			[]CallChange{both, change("theirs", "ours")},
			"ours", false,
			filePlan{to: state("theirs"), reason: reasonBetween},
		},
		{
			"below two edits",
			[]CallChange{both, change("theirs", "ours"), change("ours", "again")},
			"again", false,
			filePlan{to: state("theirs"), reason: reasonBetween},
		},
		{
			"above an edit",
			[]CallChange{change("user", "ours"), change("ours", "theirs", "ses_b")},
			"ours", false,
			filePlan{to: state("user")},
		},
		{
			"forced",
			[]CallChange{both, change("theirs", "ours")},
			"ours", true,
			filePlan{to: state("user"), backup: true, others: []string{"theirs"}},
		},
		{
			"forced over a version between",
			[]CallChange{change("user", "ours"), change("edited", "again")},
			"again", true,
			filePlan{to: state("user"), backup: true, others: []string{"edited"}},
		},
	} {
		if got := planFile(c.chain, state(c.now), c.force); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

// RV-8: what a command made of a protected file is restored only by a forced revert. A file tool asked before it wrote.
func TestProtectedFilesOfCommandsStay(t *testing.T) {
	state := func(blob string) session.PathState { return session.PathState{Blob: blob, Mode: session.ModeFile} }
	removed := session.FileChange{Before: state("job")} // by a command, after a job made it
	edited := session.FileChange{Before: state("user"), After: state("ours")}
	for _, c := range []struct {
		name      string
		path      session.FilePath
		change    session.FileChange
		isCommand bool
		isForce   bool
		want      bool // it is restored
	}{
		{"removed by a command", ".envrc", removed, true, false, false},
		{"edited by a command", "sub/.husky/pre-commit", edited, true, false, false},
		{"forced", ".envrc", removed, true, true, true},
		{"edited by a file tool", ".github/workflows/ci.yml", edited, false, false, true},
		{"ordinary", "main.go", removed, true, false, true},
	} {
		c.change.Path = c.path
		ledger, files := NewLedger(), []session.FileChange{c.change}
		ledger.AddEvent("ses_a", 1, &session.FilesWriting{Files: files})
		if c.isCommand {
			ledger = NewLedger()
			ledger.AddEvent("ses_a", 1, &session.TreeChanged{Files: files})
		}
		out, now := &session.Revert{}, map[session.FilePath]session.PathState{c.path: c.change.After}
		rule(nil).addFiles(out, ledger.Changes, now, c.isForce)
		isKept := len(out.Kept) == 1 && out.Kept[0].Reason == reasonGuarded
		if len(out.Files) == 1 != c.want || isKept == c.want {
			t.Errorf("%s: %+v", c.name, out)
		}
	}
}
