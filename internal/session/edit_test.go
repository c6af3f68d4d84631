package session

import (
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What an edit changes of a turn that has ended, and that one that has not is left alone.
func TestEditTurn(t *testing.T) {
	signed := jsontext.Value(`{"signature":"s"}`)
	turn := func() *Assistant {
		return &Assistant{
			Head: Head{ID: "msg_a", Time: MessageTime{Created: 1, Completed: 2}},
			Content: []Content{
				&Reasoning{Type: "reasoning", PartID: "prt_r", Text: "hm", Metadata: signed},
				&Text{Type: "text", PartID: "prt_t", Text: "hello", Metadata: signed},
				&Tool{Type: "tool", PartID: "prt_c", Name: "read", State: ToolState{Status: ToolCompleted}},
			},
		}
	}
	for _, c := range []struct {
		name string
		do   EventData
		want string // of the content; "" nothing changes
	}{
		{"text", &PartEdited{TurnFact: OfTurn("msg_a"), PartID: "prt_t", Text: "bye"}, "hm* bye read"},
		{"the same text", &PartEdited{TurnFact: OfTurn("msg_a"), PartID: "prt_t", Text: "hello"}, ""},
		{"reasoning", &PartEdited{TurnFact: OfTurn("msg_a"), PartID: "prt_r", Text: "well"}, "well hello* read"},
		{"a call says nothing", &PartEdited{TurnFact: OfTurn("msg_a"), PartID: "prt_c", Text: "x"}, ""},
		{"no such item", &PartEdited{TurnFact: OfTurn("msg_a"), PartID: "prt_x", Text: "x"}, ""},
		{"text goes", &PartRemoved{TurnFact: OfTurn("msg_a"), PartID: "prt_t"}, "hm* read"},
		{"a call goes", &PartRemoved{TurnFact: OfTurn("msg_a"), PartID: "prt_c"}, "hm* hello*"},
		{"nothing goes", &PartRemoved{TurnFact: OfTurn("msg_a"), PartID: "prt_x"}, ""},
		{"another turn", &PartRemoved{TurnFact: OfTurn("msg_b"), PartID: "prt_t"}, ""},
	} {
		a := turn()
		if changed := a.Apply(c.do); changed != (c.want != "") {
			t.Errorf("%s: changed %v", c.name, changed)
		}
		want := c.want
		if want == "" {
			want = "hm* hello* read"
		}
		if got := outline(a); got != want {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
		open := turn()
		open.Time.Completed = 0
		if open.Apply(c.do) || outline(open) != "hm* hello* read" {
			t.Errorf("%s: an open turn became %q", c.name, outline(open))
		}
	}
}

// outline describes the items of the turn; a star marks signed ones.
func outline(a *Assistant) (s string) {
	for i, c := range a.Content {
		if i > 0 {
			s += " "
		}
		switch c := c.(type) {
		case *Text:
			s += c.Text + mark(c.Metadata)
		case *Reasoning:
			s += c.Text + mark(c.Metadata)
		case *Tool:
			s += c.Name
		}
	}
	return s
}

func mark(signature jsontext.Value) string {
	if signature == nil {
		return ""
	}
	return "*"
}

// An edit replaces what a prompt says, not by whom it was to be answered.
func TestEditPrompt(t *testing.T) {
	u := &User{Head: Head{ID: "msg_u"}, Text: "old", Files: []File{{URI: "file:///a"}}, Agent: "plan"}
	if u.Apply(&MessageEdited{
		MessageID: "msg_other", Prompt: Prompt{Text: "x"},
	}) || u.Apply(&MessageRemoved{MessageID: "msg_u"}) || u.Text != "old" {
		t.Errorf("changed to %q by what is not about its text", u.Text)
	}
	if !u.Apply(&MessageEdited{
		MessageID: "msg_u", Prompt: Prompt{Text: "new", Agent: "build"},
	}) || u.Text != "new" || u.Files != nil || u.Agent != "plan" {
		t.Errorf("edited to %+v", u)
	}
}
