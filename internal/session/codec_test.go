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

// Copied messages whose stored forms are known are stored as those whose forms are encoded again.
func TestEncodeCopied(t *testing.T) {
	m := &User{
		Head: Head{ID: "msg_a", Type: TypeUser, Time: MessageTime{Created: 5}}, Text: "a <b> \"c\" é",
	}
	stored, err := EncodeMessage(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, extra := range []string{"", `{"later":1}`} {
		known := NewMessagesCopied(3, []Message{m, m}, []jsontext.Value{stored, stored})
		known.SessionID, known.Timestamp = "ses_\xff<\"a", 7
		unknown := &MessagesCopied{Fact: known.Fact, First: 3, Messages: known.Messages}
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
