package opencode

import (
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestRevertTakesTheEndOfATurn holds that nothing of a message is shown behind a part to which it was reverted.
func TestRevertTakesTheEndOfATurn(t *testing.T) {
	a := &session.Assistant{
		Head:    session.Head{ID: "msg_2", Type: session.TypeAssistant},
		Content: []session.Content{&session.Text{Type: "text", ID: "t", PartID: "prt_1", Text: "Done."}},
		StartID: "prt_0", EndID: "prt_2", Finish: "stop",
		Snapshot: &session.StepSnapshot{Start: "a", End: "b", Files: []string{"a.txt"}},
	}
	a.Time.Completed = 1
	kinds := func() (kinds []string) {
		for _, p := range stepParts(&session.Session{}, a) {
			kinds = append(kinds, p.asHead().Type)
		}
		return kinds
	}
	if got := kinds(); len(got) != 4 {
		t.Fatalf("parts before the revert: %q", got)
	}
	gone := &session.PartRemoved{TurnFact: session.OfTurn("msg_2"), PartID: "prt_2"}
	if !a.Apply(gone) || a.Apply(gone) {
		t.Error("the end is to be removed once")
	}
	if got := kinds(); len(got) != 2 || got[1] != "text" {
		t.Errorf("parts after the revert: %q", got)
	}
}
