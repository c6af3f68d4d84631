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
