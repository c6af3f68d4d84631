package session

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// What a tool read off the disk may be no text: it is recorded with marks in its place, and reads back as that.
func TestFactsOfBytesThatAreNoText(t *testing.T) {
	raw, err := EncodeData(&ToolSuccess{
		CallID: "c", Title: "inv\xff.txt", Content: TextContent("a \xfe b"),
		Structured: jsontext.Value(`{"path":"inv` + "\xff" + `.txt"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	d, err := DecodeData((&ToolSuccess{}).Kind(), (&ToolSuccess{}).Version(), raw)
	if err != nil {
		t.Fatal(err)
	}
	again, err := EncodeData(d)
	if err != nil || string(again) != string(raw) || strings.Count(string(raw), "\uFFFD") != 3 {
		t.Errorf("%v\n%s\n%s", err, raw, again)
	}
}

// An imported message whose stored form is known is stored as one whose form is encoded again.
func TestEncodeImported(t *testing.T) {
	m := &User{
		Head: Head{ID: "msg_a", Type: TypeUser, Time: MessageTime{Created: 5}}, Text: "a <b> \"c\" é",
	}
	stored, err := EncodeMessage(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, extra := range []string{"", `{"later":1}`} {
		known := NewMessageImported(m, stored, 7)
		known.SessionID = "ses_\xff<\"a"
		unknown := &MessageImported{Fact: known.Fact, Message: stored}
		if extra != "" {
			known.Extra, unknown.Extra = jsontext.Value(extra), jsontext.Value(extra)
		}
		got, err1 := EncodeData(known)
		want, err2 := EncodeData(unknown)
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("extra %q:\ngot  %s (%v)\nwant %s (%v)", extra, got, err1, want, err2)
		}
	}
}
