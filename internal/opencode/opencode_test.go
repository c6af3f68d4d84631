package opencode

import (
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Derived ids have the form of other ids, are stable, and are unique.
func TestDerivedIDs(t *testing.T) {
	const message = "msg_1fea40554002WMwUH6h1gkIbnp"
	seen := map[session.PartID]int{}
	for n := range 200 {
		id := partIDOr("", message, n)
		if len(id) != len(message) || id[:16] != "prt_1fea40554002" || id != partIDOr("", message, n) {
			t.Fatalf("part %d is %s", n, id)
		}
		if other, taken := seen[id]; taken {
			t.Fatalf("parts %d and %d are both %s", other, n, id)
		}
		seen[id] = n
	}
}

// An attachment of a call has an id of the usual length, and no name if the call's input has it.
func TestAttachments(t *testing.T) {
	call := &session.Tool{Name: "read", State: session.ToolState{
		Status: session.ToolCompleted, Input: jsontext.Value(`{"filePath":"/w/a.png"}`),
		Content: []session.ToolContent{
			{Type: "file", URI: "data:image/png;base64,AA==", Mime: "image/png", Name: "a.png"},
		},
	}}
	head := Head{ID: "prt_1fea40554002WMwUH6h1gkIbnp", SessionID: "ses_1", MessageID: "msg_1fea40554002WMwUH6h1gkIbno"}
	file := toolState(head, call).(*ToolCompleted).Attachments[0]
	if len(file.ID) != len(head.ID) || file.ID == head.ID || file.Filename != "" || file.MessageID != head.MessageID {
		t.Errorf("the file is %+v", file)
	}
}

// A session outside of a checkout has a path relative to the root directory.
func TestSessionPath(t *testing.T) {
	for want, s := range map[string]session.Session{
		"sub":    {ProjectID: "abc", Location: session.Location{Directory: "/w/sub"}, Subpath: "sub"},
		"w/else": {ProjectID: "global", Location: session.Location{Directory: "/w/else"}},
	} {
		if got := *SessionOf(&s).Path; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// An error in a rule names V1's member.
func TestCheckRules(t *testing.T) {
	for want, r := range map[string]Rule{
		"permission[0].permission": {Pattern: "*", Action: session.Deny},
		"permission[0].pattern":    {Permission: "bash", Action: session.Deny},
		"permission[0].action":     {Permission: "bash", Pattern: "*", Action: "maybe"},
	} {
		if e, ok := errors.AsType[*session.Error](CheckRules([]Rule{r})); !ok || e.Field != want {
			t.Errorf("%v: %v, want it at %s", r, e, want)
		}
	}
	if err := CheckRules([]Rule{{Permission: "bash", Pattern: "*", Action: session.Ask}}); err != nil {
		t.Error(err)
	}
}

// A command's title is the whole command, and a patch's title lists all its changes.
func TestTitles(t *testing.T) {
	for _, c := range []struct{ name, input, title, output, want string }{
		{"bash", `{"command":"cat <<X\nhere\nX"}`, "cat <<X here X", "here", "cat <<X\nhere\nX"},
		{"apply_patch", `{"patchText":"p"}`, "2 files", "Success.\nA x\nM y", "Success.\nA x\nM y"},
		{"read", `{"filePath":"/w/a.txt"}`, "a.txt", "1: x", "a.txt"},
	} {
		call := &session.Tool{Name: c.name, State: session.ToolState{
			Status: session.ToolCompleted, Input: jsontext.Value(c.input), Title: c.title,
			Content: session.TextContent(c.output),
		}}
		if got := toolState(Head{}, call).(*ToolCompleted).Title; got != c.want {
			t.Errorf("%s is called %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPartIDAfter(t *testing.T) {
	for _, c := range [][2]session.PartID{
		{"prt_21c2be894001RiauoTrJzX6EMb", "prt_21c2be894001RiauoTrJzX6EMc"},
		{"prt_21c2be894001RiauoTrJzX6EM9", "prt_21c2be894001RiauoTrJzX6EMA"},
		{"prt_21c2be894001RiauoTrJzX6EMZ", "prt_21c2be894001RiauoTrJzX6EMa"},
		{"prt_21c2be894001RiauoTrJzX6Ezz", "prt_21c2be894001RiauoTrJzX6F00"},
		{"prt_zz", "prt_zz0"},
	} {
		if got := partIDAfter(c[0]); got != c[1] || got <= c[0] {
			t.Errorf("partIDAfter(%s) = %s, want %s", c[0], got, c[1])
		}
	}
}
