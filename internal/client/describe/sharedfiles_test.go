package describe

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// A note names what was added, and the session as a whole all of it.
func TestDescribeSharedFiles(t *testing.T) {
	entry := session.ContextEntry{Key: session.KeySharedFiles, Value: jsontext.Value(`[
		{"sessionID":"ses_a","title":"A","directory":"/a","files":["old.txt"]},
		{"sessionID":"ses_b","title":"B","directory":"/b","files":["f.txt","g.txt"],"added":1}]`)}
	note := DescribeEvent(&session.ContextEntrySet{ContextEntry: entry})
	if !strings.Contains(note, "g.txt: session ses_b") || strings.Contains(note, "f.txt") || strings.Contains(note, "old.txt") {
		t.Errorf("the note: %s", note)
	}
	all := DescribeSharedFiles([]session.ContextEntry{entry})
	for _, name := range []string{"old.txt", "f.txt", "g.txt"} {
		if !strings.Contains(all, name) {
			t.Errorf("all of it lacks %s: %s", name, all)
		}
	}
}
