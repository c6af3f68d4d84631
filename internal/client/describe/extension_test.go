package describe

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// TestExtensionNotes: what extensions changed of a call is said with their names.
func TestExtensionNotes(t *testing.T) {
	call := &session.Tool{
		Extensions: &session.CallExtensions{
			By: []string{"hook/PreToolUse/1"}, Input: jsontext.Value(`{"command":"ls -l"}`), Effect: session.Ask,
			Reason: "odd", Context: "mind the gap\nand more",
		},
		Replaced: &session.Replacement{By: []string{"hook/PostToolUse/1", "x"}},
	}
	want := []string{
		`hook/PreToolUse/1 changed the input to {"command":"ls -l"}`, "hook/PreToolUse/1 decided: ask odd",
		"hook/PreToolUse/1 told the model: mind the gap…", "hook/PostToolUse/1, x changed the result",
	}
	if diff := cmp.Diff(want, ListExtensionNotes(call)); diff != "" {
		t.Error(diff)
	}
	if got := ListExtensionNotes(&session.Tool{}); len(got) > 0 {
		t.Errorf("of a call without extensions: %v", got)
	}
}
