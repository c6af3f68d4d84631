package acp

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/session"
)

func TestSplitPatch(t *testing.T) {
	for _, tt := range []struct{ name, patch, before, after string }{
		{"nothing", "", "", ""},
		{"no hunk", "--- a\n+++ b\n", "", ""},
		{"a line", "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n", "x\n", "y\n"},
		{"lines around", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n", "a\nb\nc\n", "a\nB\nc\n"},
		{"two hunks", "@@ -1 +1 @@\n-a\n+A\n@@ -9 +9 @@ func x\n-b\n+B\n", "a\nb\n", "A\nB\n"},
		{"lines like headers", "@@ -1,2 +1 @@\n--- x\n+++ y\n", "-- x\n", "++ y\n"},
		{"no newline at the end", "@@ -1 +1 @@\n-x\n\\ No newline at end of file\n+y\n", "x\n", "y\n"},
		{"an empty line without its space", "@@ -1,2 +1,2 @@\n\n-x\n+y\n", "\nx\n", "\ny\n"},
		{"cut off", "@@ -1 +1 @@\n-x", "x", ""},
	} {
		if before, after := splitPatch(tt.patch); before != tt.before || after != tt.after {
			t.Errorf("%s: %q, %q; want %q, %q", tt.name, before, after, tt.before, tt.after)
		}
	}
}

// A patch that replaces all lines by others has both texts; no text is broken by what the patch has around it.
func FuzzSplitPatch(f *testing.F) {
	f.Add("a\nb", "c\n@@ -1 +1 @@", "--- a\n+++ b")
	f.Add("\\ x", "", "@@ ")
	f.Fuzz(func(t *testing.T, before, after, raw string) {
		splitPatch(raw)
		patch := "--- a\n+++ b\n@@ -1 +1 @@\n"
		for mark, text := range map[string]*string{"-": &before, "+": &after} {
			*text = strings.TrimSuffix(*text, "\n") + "\n"
			for line := range strings.Lines(*text) {
				patch += mark + line
			}
		}
		if gotBefore, gotAfter := splitPatch(patch); gotBefore != before || gotAfter != after {
			t.Errorf("%q: %q, %q", patch, gotBefore, gotAfter)
		}
	})
}

func TestNewCall(t *testing.T) {
	for _, tt := range []struct{ tool, input, kind, path, diff string }{
		{"read", `{"filePath":"a.txt"}`, "read", "/d/a.txt", ""},
		{"read", `{"filePath":"/x/../a.txt"}`, "read", "/a.txt", ""},
		{"grep", `{"path":"src","pattern":"x"}`, "search", "/d/src", ""},
		{"edit", `{"filePath":"a.txt","oldString":"x","newString":"y"}`, "edit", "/d/a.txt", "x>y"},
		{"write", `{"filePath":"a.txt","content":"y"}`, "edit", "/d/a.txt", ">y"},
		{"bash", `{"command":"ls"}`, "execute", "", ""},
		{"edit", `{"filePath":7}`, "edit", "", ""},
		{"edit", `7`, "edit", "", ""},
		{"notes_shout", `{}`, "other", "", ""},
		{"task", `{}`, "think", "", ""},
		{"webfetch", `{"url":"x"}`, "fetch", "", ""},
		{"plan_exit", `{}`, "switch_mode", "", ""},
	} {
		u := newCall("/d", "prt_1", tt.tool, []byte(tt.input))
		diff := ""
		for _, c := range u.content {
			diff += c.diff.old + ">" + c.diff.new
		}
		if string(u.kind) != tt.kind || strings.Join(u.paths, " ") != tt.path || diff != tt.diff || u.title == "" {
			t.Errorf("%s %s: %+v", tt.tool, tt.input, u)
		}
	}
}

func TestSettledCall(t *testing.T) {
	text := session.TextContent("output")
	u := settledCall("p", "bash", settlement{"title", text, nil})
	if u.status != statusCompleted || u.title != "title" || u.content[0].text != "output" || string(u.rawOutput) != `{"output":"output"}` {
		t.Errorf("a command: %+v", u)
	}
	one := `{"filepath":"/d/a","exists":true,"diff":"--- a\n+++ a\n@@ -1 +1 @@\n-x\n+y\n"}`
	u = settledCall("p", "edit", settlement{"title", text, []byte(one)})
	if d := u.content[0].diff; len(u.content) != 1 || d.path != "/d/a" || d.old != "x\n" || d.new != "y\n" || d.kind != "update" || u.title != "" {
		t.Errorf("an edit: %+v", u)
	}
	several := `{"files":[{"filePath":"/d/a","type":"add","patch":"@@ -0,0 +1 @@\n+y\n"},{"filePath":"/d/b","type":"delete","patch":"@@ -1 +0,0 @@\n-x\n"}]}`
	u = settledCall("p", "apply_patch", settlement{"title", text, []byte(several)})
	if len(u.content) != 2 || u.content[0].diff.kind != "add" || u.content[1].diff.old != "x\n" || u.content[1].diff.kind != "delete" {
		t.Errorf("a patch: %+v", u)
	}
	if u = settledCall("p", "edit", settlement{structured: []byte(`7`)}); u.status != statusCompleted || u.content != nil {
		t.Errorf("without a structure: %+v", u)
	}
}

func TestNewContent(t *testing.T) {
	got := newContent([]session.ToolContent{
		{Type: "text", Text: "a"},
		{Type: "text"},
		{Type: "file", URI: "data:image/png;base64,AAAA", Mime: "image/png", Name: "x"},
		{Type: "file", URI: "data:audio/wav;base64,AAAA", Mime: "audio/wav", Name: "y"},
		{Type: "file", URI: "https://example.invalid/z", Name: "z"},
	})
	if len(got) != 4 || got[0].text != "a" || got[1].data != "AAAA" || got[2].uri != "attachment:y" || got[2].data != "" || got[3].uri == "" {
		t.Errorf("%+v", got)
	}
}
