package admit

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

func TestNumberTitle(t *testing.T) {
	for title, want := range map[string]string{
		"Work":                        "Work (fork #1)",
		"Work (fork #1)":              "Work (fork #2)",
		"Work (fork #9)":              "Work (fork #10)",
		"Work (fork #1) (fork #3)":    "Work (fork #1) (fork #4)",
		"Work (fork #x)":              "Work (fork #x) (fork #1)",
		"Work (fork #1) again":        "Work (fork #1) again (fork #1)",
		"Work (fork #12345678901234)": "Work (fork #12345678901234) (fork #1)",
	} {
		if got := NumberTitle(title); got != want {
			t.Errorf("%q becomes %q, want %q", title, got, want)
		}
	}
}

// sessions reads sessions from memory.
type sessions struct {
	store.Reader
	byID map[session.ID]*session.Session
}

func (s sessions) Session(id session.ID) (*session.Session, bool, error) {
	found, ok := s.byID[id]
	return found, ok, nil
}

// The fork of a child session keeps what its parents ask and deny, denials last so that they win, and nothing that they
// allow. A circle of parents, which only damage makes, ends.
func TestCollectLimits(t *testing.T) {
	rule := func(action string, e session.Effect) session.Rule {
		return session.Rule{Action: action, Resource: "*", Effect: e}
	}
	family := func(parentOfTop session.ID) sessions {
		return sessions{byID: map[session.ID]*session.Session{
			"ses_child": {ID: "ses_child", ParentID: "ses_mid", Permission: []session.Rule{
				rule("edit", session.Deny), rule("bash", session.Ask), rule("read", session.Allow),
			}},
			"ses_mid": {ID: "ses_mid", ParentID: "ses_top", Permission: []session.Rule{rule("read", session.Ask)}},
			"ses_top": {ID: "ses_top", ParentID: parentOfTop, Permission: []session.Rule{rule("task", session.Deny)}},
		}}
	}
	want := []session.Rule{
		rule("bash", session.Ask), rule("read", session.Ask), rule("edit", session.Deny), rule("task", session.Deny),
	}
	for _, above := range []session.ID{"", "ses_gone", "ses_child"} {
		r := family(above)
		got, err := collectLimits(r, r.byID["ses_child"])
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("with %q above: %v (-want +got):\n%s", above, err, diff)
		}
	}
}

// A fork that ends within a turn has the parts before the end, and the turn is one that was interrupted.
func TestCutTurn(t *testing.T) {
	turn := func(completed int64) *session.Assistant {
		a := &session.Assistant{Finish: "stop", Content: []session.Content{
			&session.Text{PartID: "prt_1", Time: &session.ItemTime{Created: 1, Completed: 2}},
			&session.Reasoning{PartID: "prt_2", Time: &session.ItemTime{Created: 3}},
			&session.Tool{ID: "c", PartID: "prt_3", Time: session.ToolTime{Created: 4}},
		}}
		a.Time.Created, a.Time.Completed = 1, completed
		return a
	}
	tests := []struct {
		name      string
		completed int64
		part      session.PartID
		items     string // "!" marks a partial or failed one
		cut       bool
	}{
		{name: "whole turn that has ended", completed: 9, items: "prt_1 prt_2 prt_3 "},
		{name: "whole turn that is open", items: "prt_1 prt_2! prt_3! ", cut: true},
		{name: "before the call", completed: 9, part: "prt_3", items: "prt_1 prt_2! ", cut: true},
		{name: "before the first part", completed: 9, part: "prt_1", cut: true},
	}
	for _, c := range tests {
		a := turn(c.completed)
		cutTurn(a, c.part)
		items := ""
		for _, item := range a.Content {
			mark := ""
			switch item := item.(type) {
			case *session.Text:
				mark = markIf(item.Partial)
			case *session.Reasoning:
				mark = markIf(item.Partial)
			case *session.Tool:
				mark = markIf(item.State.Status == session.ToolError)
			}
			items += fmt.Sprint(item.ItemID(), mark, " ")
		}
		if items != c.items || (a.Error != nil) != c.cut || a.Open() || (a.Finish == "") != c.cut {
			t.Errorf("%s: items %q, error %v, finish %q, open %v", c.name, items, a.Error, a.Finish, a.Open())
		}
	}
}

func markIf(marked bool) string {
	if marked {
		return "!"
	}
	return ""
}
