package revert

import (
	"reflect"
	"testing"

	"github.com/cairn-dev/cairn/internal/engine/changes"
	"github.com/cairn-dev/cairn/internal/session"
)

// RV-2: a revert does not remove what the command of another session may have written, also where the session changed
// the file later.
func TestPlanBeside(t *testing.T) {
	state := func(blob string) session.PathState { return session.PathState{Blob: blob, Mode: session.ModeFile} }
	change := func(from, to string, beside ...session.ID) changes.CallChange {
		return changes.CallChange{
			FileChange: session.FileChange{Path: "f", Before: state(from), After: state(to)}, Beside: beside,
		}
	}
	both := change("user", "theirs", "ses_b") // by a command of either session
	for _, c := range []struct {
		name  string
		chain []changes.CallChange
		now   string
		force bool
		want  filePlan
	}{
		{"newest", []changes.CallChange{both}, "theirs", false, filePlan{to: state("user"), conflict: reasonBeside}},
		{
			"below an edit",
			[]changes.CallChange{both, change("theirs", "ours")},
			"ours", false,
			filePlan{to: state("theirs"), reason: reasonBetween},
		},
		{
			"below two edits",
			[]changes.CallChange{both, change("theirs", "ours"), change("ours", "again")},
			"again", false,
			filePlan{to: state("theirs"), reason: reasonBetween},
		},
		{
			"above an edit",
			[]changes.CallChange{change("user", "ours"), change("ours", "theirs", "ses_b")},
			"ours", false,
			filePlan{to: state("user")},
		},
		{
			"forced",
			[]changes.CallChange{both, change("theirs", "ours")},
			"ours", true,
			filePlan{to: state("user"), backup: true, others: []string{"theirs"}},
		},
		{
			"forced over a version between",
			[]changes.CallChange{change("user", "ours"), change("edited", "again")},
			"again", true,
			filePlan{to: state("user"), backup: true, others: []string{"edited"}},
		},
	} {
		if got := planFile(c.chain, state(c.now), c.force); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}
