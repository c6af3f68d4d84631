package session

import (
	"strings"
	"testing"
	"time"
)

// TestTaskID: the ids of tasks are valid, differ as their parts do, and are ordered as ids of their kind are.
func TestTaskID(t *testing.T) {
	ids := &IDs{Now: time.Now}
	first, second := PartID(ids.New(PrefixPart)), PartID(ids.New(PrefixPart))
	if TaskID(first) <= TaskID(second) || TaskPromptID(first) >= TaskPromptID(second) {
		t.Errorf("order: %s %s, %s %s", TaskID(first), TaskID(second), TaskPromptID(first), TaskPromptID(second))
	}
	for _, part := range []PartID{first, "prt_x", "", PartID("prt_" + strings.Repeat("z", 26))} {
		if err := CheckID("id", PrefixSession, string(TaskID(part))); err != nil || len(TaskID(part)) != 30 {
			t.Errorf("%q gives %q: %v", part, TaskID(part), err)
		}
	}
}
