package opencode

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
)

// The page of a file is taken from its URL, as OpenCode's clients write it.
func TestPageOf(t *testing.T) {
	for uri, want := range map[string]Page{
		"file:///w/a.txt":                 {FilePath: "/w/a.txt"},
		"file:///w/a.txt?start=2&end=3":   {FilePath: "/w/a.txt", Offset: 2, Limit: 2},
		"file:///w/a.txt?start=0&end=2":   {FilePath: "/w/a.txt", Offset: 1, Limit: 2},
		"file:///w/a.txt?start=3":         {FilePath: "/w/a.txt", Offset: 3},
		"file:///w/a.txt?end=4":           {FilePath: "/w/a.txt"},
		"file:///w/a.txt?start=5&end=2":   {FilePath: "/w/a.txt", Offset: 5},
		"file:///w/a.txt?start=x&end=y":   {FilePath: "/w/a.txt"},
		"file:///w/per%25cent.txt":        {FilePath: "/w/per%cent.txt"},
		"file:///w/we ird/ümläut.txt":     {FilePath: "/w/we ird/ümläut.txt"},
		"file://elsewhere/w/a.txt":        {},
		"data:text/plain;base64,aGVsbG8=": {},
		"https://example.invalid/a.txt":   {},
	} {
		got, ok := PageOf(session.File{URI: uri, Mime: "text/plain", Name: "n"})
		if ok != (want != Page{}) || ok && got != want {
			t.Errorf("%s: %+v %v, want %+v", uri, got, ok, want)
		}
	}
}

// Text that comes with the prompt is shown as read before the file; an unread file is only named.
func TestTextBeforeFile(t *testing.T) {
	n := 0
	ids := func() session.PartID { n++; return session.PartID("prt_" + string(rune('a'+n))) }
	hello := "look"
	in := PromptInput{Parts: &[]PartInput{
		{Type: "text", Text: &hello},
		{Type: "file", Mime: "text/plain", Filename: "p.txt", URL: "data:text/plain;base64,aGVsbG8="},
		{Type: "file", Mime: "text/plain", URL: "file:///w/named.txt"},
		{Type: "file", Mime: "text/plain", URL: "file:///w/a.txt?start=2"},
		{Type: "file", Mime: "image/png", URL: "file:///w/a.png"},
	}}
	p, err := in.Prompt(ids)
	if err != nil {
		t.Fatal(err)
	}
	p.Files[2].Text, p.Files[3].URI = "2: beta", "data:image/png;base64,AA=="
	u := session.Begin(&session.Prompted{MessageID: "msg_1", Prompt: p}, 0).(*session.User)
	var got []string
	last := session.PartID("")
	for _, v := range promptParts("ses_1", u) {
		if PartID(v) <= last {
			t.Errorf("%s comes after %s", PartID(v), last)
		}
		last = PartID(v)
		switch v := v.(type) {
		case *TextPart:
			got = append(got, v.Text)
		case *FilePart:
			got = append(got, v.URL)
		}
	}
	if diff := cmp.Diff([]string{
		"look", `Called the Read tool with the following input: {"filePath":"p.txt"}`, "hello",
		"data:text/plain;base64,aGVsbG8=",
		"file:///w/named.txt", `Called the Read tool with the following input: {"filePath":"/w/a.txt","offset":2}`,
		"2: beta", "file:///w/a.txt?start=2",
		`Called the Read tool with the following input: {"filePath":"/w/a.png"}`, "data:image/png;base64,AA==",
	}, got); diff != "" {
		t.Error(diff)
	}
	gone, err := SplitPrompt(u, "prt_i", nil)
	if err != nil || len(gone.Files) != 4 || gone.Files[2].Text != "" || len(gone.Parts) != 9 {
		t.Errorf("without one text: %+v %v", gone, err)
	}
}
