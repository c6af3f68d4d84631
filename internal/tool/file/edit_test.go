package file_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name          string
		content       string
		old, new      string
		all           bool
		want          string // the new content, or the error if it starts with "!"
		how, contains string
	}{
		{name: "exact", content: "a\nb\nc\n", old: "b", new: "x", want: "a\nx\nc\n", contains: "Edit applied successfully."},
		{name: "at the very end", content: "a\nb", old: "b", new: "x", want: "a\nx"},
		{name: "all", content: "a b a", old: "a", new: "x", all: true, want: "x b x", contains: "2 occurrences"},
		{name: "to nothing", content: "a\nb\nc\n", old: "b\n", new: "", want: "a\nc\n"},
		{name: "twice", content: "a a", old: "a", new: "x", want: "!Found multiple matches for oldString (2)"},
		{
			name: "missing", content: "a\n", old: "nope", new: "x",
			want: "!Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line " +
				"endings.",
		},
		{name: "same", content: "a\n", old: "a", new: "a", want: "!oldString and newString are the same"},
		{name: "regular expression characters", content: "f(x)[0].*\n", old: "(x)[0].*", new: "$1", want: "f$1\n"},
		{name: "line ends", content: "a\r\nb\r\nc\r\n", old: "a\nb", new: "x\ny", want: "x\r\ny\r\nc\r\n"},
		{name: "line ends in the call", content: "a\nb\nc\n", old: "a\r\nb", new: "x\r\ny", want: "x\ny\nc\n"},
		{name: "lines that end in both ways", content: "a\r\nb\nc\r\n", old: "b\nc", new: "X\nY", want: "a\r\nX\nY\r\n"},
		{
			name: "trimmed keeps the carriage return", content: "x \r\ny\r\nz\r\n", old: "x\ny", new: "X\nY",
			want: "X\r\nY\r\nz\r\n",
		},
		{
			name: "indented keeps the carriage return", content: "\tif x {\r\n\t\ty\r\n\t}\r\nz\r\n", old: "if x {\n\ty\n}",
			new: "go", want: "go\r\nz\r\n",
		},
		{
			name: "anchors keep the carriage return", content: "f {\r\n  let a = 1;\r\n  let bc = 2;\r\n}\r\nz\r\n",
			old: "f {\n  let a = 1;\n  let b = 2;\n}", new: "go", want: "go\r\nz\r\n",
		},
		{
			name: "white space keeps the carriage return", content: "a   b\r\nc    d\r\nz\r\n", old: "a b\nc d", new: "go",
			want: "go\r\nz\r\n",
		},
		{name: "one line becomes two", content: "a\r\nb\r\n", old: "b", new: "X\nY", want: "a\r\nX\r\nY\r\n"},
		{name: "byte order mark in both", content: "\uFEFFa\nb\n", old: "\uFEFFa", new: "\uFEFFx", want: "\uFEFFx\nb\n"},
		{name: "byte order mark", content: "\uFEFFa\nb\n", old: "a", new: "x", want: "\uFEFFx\nb\n"},
		{name: "bytes that are no text", content: "caf\xe9\nb\n", old: "b", new: "x", want: "caf\xe9\nx\n"},
		{name: "binary", content: "a\x00b", old: "a", new: "x", want: "!binary file"},

		{
			name: "lines trimmed", content: "if x {\n    one()  \n\ttwo()\n}\n", old: "one()\ntwo()\n", new: "three()\n",
			want: "if x {\nthree()\n}\n", contains: "white space around lines",
		},
		{name: "trimmed keeps the newline", content: "  a\n  b\nc\n", old: "a\nb", new: "x", want: "x\nc\n"},
		{
			name: "anchors", content: "func f() {\n\tone := 1\n\ttwo := 22\n\treturn one\n}\nrest\n",
			old: "func f() {\n\tone := 1\n\ttwo := 2\n\treturn one\n}", new: "func g() {}", want: "func g() {}\nrest\n",
			contains: "between the first and the last",
		},
		{
			name: "anchors pick the most like", content: "begin\naaaaaaaa\nend\nbegin\nbbbbbbbc\nend\n",
			old: "begin\nbbbbbbbb\nend", new: "x", want: "begin\naaaaaaaa\nend\nx\n",
		},
		{
			name: "anchors too different", content: "begin\nqwertyuiop\nend\n", old: "begin\nzzzzzzzzzz\nend", new: "x",
			want: "!Could not find",
		},
		{name: "white space within a line", content: "x  :=   f( a,  b )\n", old: "x := f( a, b )", new: "y", want: "y\n"},
		{
			name: "white space around words", content: "call(a,   b); more()\n", old: "call(a, b);", new: "x;",
			want: "x; more()\n",
		},
		{name: "white space over lines", content: "a  b\nc   d\n", old: "a b\nc d", new: "x", want: "x\n"},
		{name: "indentation", content: "\t\tif a {\n\t\t\tb()\n\t\t}\n", old: "if a {\n\tb()\n}", new: "c()", want: "c()\n"},
		{name: "escapes", content: "say(\"hi\")\tok\n", old: `say(\"hi\")\tok`, new: "x", want: "x\n"},
		{name: "escaped newlines", content: "a\nb\nc\n", old: `a\nb`, new: "x", want: "x\nc\n"},
		{name: "blank around", content: "foo(bar)\n", old: "\n  foo(bar)  \n", new: "x", want: "x\n"},
		{
			name: "context", content: "start\nkeep\nreally different line\nend\n",
			old: "start\nkeep\nnothing alike whatsoever 12345\nend", new: "x", want: "x\n", contains: "some lines between",
		},
		{
			name: "tolerant but ambiguous", content: "  a\n  b\n...\n  a\n  b\n", old: "a\nb", new: "x",
			want: "!Found multiple matches",
		},
		{name: "white space in the first of two", content: "a  b\na   b\n", old: "a b", new: "x", want: "x\na   b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := tooltest.New(t)
			b.WriteFile("f", c.content)
			s := b.Call("edit", tooltest.Input{"filePath": "f", "oldString": c.old, "newString": c.new, "replaceAll": c.all})
			if msg, isErr := strings.CutPrefix(c.want, "!"); isErr {
				if s.Error == nil || !strings.Contains(s.Error.Message, msg) || b.ReadFile("f") != c.content {
					t.Fatalf("%s\n%q", tooltest.TextOf(s), b.ReadFile("f"))
				}
				return
			}
			tooltest.MustContain(t, tooltest.TextOf(s), c.contains)
			if diff := cmp.Diff(c.want, b.ReadFile("f")); s.Error != nil || diff != "" {
				t.Fatalf("%s\n%s", tooltest.TextOf(s), diff)
			}
		})
	}
}

// The match must not be much larger than oldString.
func TestEditRefusesOversizedMatch(t *testing.T) {
	b := tooltest.New(t)
	content := "start\n" + strings.Repeat("word ", 400) + "\nend\n"
	b.WriteFile("f", content)
	s := b.Call("edit", tooltest.Input{"filePath": "f", "oldString": "start\nend of it\nend", "newString": "x"})
	if s.Error == nil || b.ReadFile("f") != content {
		t.Fatal(tooltest.TextOf(s))
	}
}

func TestChangeRefusesLargeFiles(t *testing.T) {
	b := tooltest.New(t)
	if err := os.Truncate(b.WriteFile("f", "word"), 16<<20+1); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]tool.Settlement{
		"edit":  b.Call("edit", tooltest.Input{"filePath": "f", "oldString": "word", "newString": "x"}),
		"write": b.Call("write", tooltest.Input{"filePath": "f", "content": "x"}),
	} {
		tooltest.MustContain(t, name+tooltest.TextOf(s), "larger than 16 MiB")
	}
}

func TestEditCreates(t *testing.T) {
	b := tooltest.New(t)
	s := b.Call("edit", tooltest.Input{"filePath": "a/b/new.txt", "oldString": "", "newString": "hello\n"})
	if s.Error != nil || b.ReadFile("a/b/new.txt") != "hello\n" {
		t.Fatal(tooltest.TextOf(s))
	}
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("edit", tooltest.Input{"filePath": "a/b/new.txt", "oldString": "", "newString": "x"})),
		"exists already",
	)
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("edit", tooltest.Input{"filePath": "none", "oldString": "x", "newString": "y"})),
		"File not found: none",
	)
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("edit", tooltest.Input{"filePath": "a", "oldString": "x", "newString": "y"})),
		"is a directory",
	)
	if b.ReadFile("a/b/new.txt") != "hello\n" {
		t.Fatal("overwritten")
	}
}

func TestEditAsksWithTheDiff(t *testing.T) {
	b := tooltest.New(t)
	path := b.WriteFile("src/main.py", "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n")
	var asked tool.Request
	b.OnAsk = func(r tool.Request) {
		asked = r
		if got := b.ReadFile(path); strings.Contains(got, "int(a)") {
			t.Error("changed before it was allowed")
		}
	}
	s := b.Call(
		"edit", tooltest.Input{"filePath": path, "oldString": "return a + b", "newString": "return int(a) + int(b)"},
	)
	diff := "Index: " + path + "\n" + strings.Repeat("=", 67) + "\n--- " + path + "\n+++ " + path +
		"\n@@ -1,5 +1,5 @@\n def add(a, b):\n-    return a + b\n+    return int(a) + int(b)\n \n \n print(add(1, 2))\n"
	want := tool.Request{Action: "edit", Resources: []string{"src/main.py"}, Save: []string{"*"}}
	want.Metadata, asked.Metadata = nil, append(asked.Metadata[:0:0], asked.Metadata...)
	if got := tooltest.Member(t, asked.Metadata, "diff"); got != tooltest.Quote(diff) {
		t.Fatal(got)
	}
	asked.Metadata = nil
	if d := cmp.Diff(want, asked); d != "" {
		t.Fatal(d)
	}
	if got := tooltest.Member(t, s.Output.Structured, "diff"); got != tooltest.Quote(diff) {
		t.Fatal(got)
	}
	tooltest.MustContain(t, string(s.Output.Structured), `"additions":1`, `"deletions":1`, `"diagnostics":{}`)
}

func TestEditDenied(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile("f", "a\n")
	b.Rules = append(
		tooltest.AllowAll[:len(tooltest.AllowAll):len(tooltest.AllowAll)],
		session.Rule{Action: "edit", Resource: "*", Effect: session.Deny},
	)
	for _, c := range []struct {
		tool string
		in   tooltest.Input
	}{
		{"edit", tooltest.Input{"filePath": "f", "oldString": "a", "newString": "b"}},
		{"edit", tooltest.Input{"filePath": "new/x", "oldString": "", "newString": "b"}},
		{"write", tooltest.Input{"filePath": "f", "content": "b"}},
		{"write", tooltest.Input{"filePath": "new/x", "content": "b"}},
	} {
		if s := b.Call(c.tool, c.in); s.Denial == nil || s.Error.Reason != session.ReasonDenied {
			t.Fatal(tooltest.TextOf(s))
		}
	}
	if b.ReadFile("f") != "a\n" {
		t.Fatal("written")
	}
	if _, err := os.Stat(b.Path("new")); err == nil {
		t.Fatal("a directory was made")
	}
}

func TestWrite(t *testing.T) {
	b := tooltest.New(t)
	s := b.Call("write", tooltest.Input{"filePath": "deep/er/new.txt", "content": "fresh\n"})
	if tooltest.TextOf(s) != "Wrote file successfully." || b.ReadFile("deep/er/new.txt") != "fresh\n" ||
		s.Output.Title != "deep/er/new.txt" ||
		tooltest.Member(t, s.Output.Structured, "exists") != "false" {
		t.Fatalf("%s %+v", tooltest.TextOf(s), s.Output)
	}
	b.WriteFile("mark.txt", "\uFEFFold")
	s = b.Call("write", tooltest.Input{"filePath": "mark.txt", "content": "new"})
	if b.ReadFile("mark.txt") != "\uFEFFnew" || tooltest.Member(t, s.Output.Structured, "exists") != "true" {
		t.Fatalf("%q", b.ReadFile("mark.txt"))
	}
	script := b.WriteFile("run.sh", "old")
	if err := os.Chmod(script, 0o751); err != nil {
		t.Fatal(err)
	}
	b.Call("write", tooltest.Input{"filePath": "run.sh", "content": "new"})
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o751 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	frozen := b.WriteFile("frozen", "old")
	if err := os.Chmod(frozen, 0o444); err != nil {
		t.Fatal(err)
	}
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("write", tooltest.Input{"filePath": "frozen", "content": "new"})), "read-only",
	)
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("write", tooltest.Input{"filePath": "frozen/below", "content": "new"})), "not a directory",
	)
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("write", tooltest.Input{"filePath": ".", "content": "new"})), "is a directory",
	)
	b.Symlink("run.sh", "link.sh")
	b.Call("write", tooltest.Input{"filePath": "link.sh", "content": "through"})
	if info, err := os.Lstat(b.Path("link.sh")); err != nil || info.Mode()&fs.ModeSymlink == 0 ||
		b.ReadFile("run.sh") != "through" {
		t.Fatal("the link was replaced")
	}
	left, err := os.ReadDir(b.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Fatal(e.Name())
		}
	}
}

// A file that changed since the session read it is not written.
func TestChangedSinceRead(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile("f", "one\n")
	edit := tooltest.Input{"filePath": "f", "oldString": "one", "newString": "two"}
	b.Call("read", tooltest.Input{"filePath": "f"})
	b.WriteFile("f", "zero\none\n")
	tooltest.MustContain(t, tooltest.TextOf(b.Call("edit", edit)), "was changed (at", "Read it again")
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("write", tooltest.Input{"filePath": "f", "content": "x"})), "was changed (at",
	)
	b.Call("read", tooltest.Input{"filePath": "f"})
	tooltest.MustContain(t, tooltest.TextOf(b.Call("edit", edit)), "successfully")
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("edit", tooltest.Input{"filePath": "f", "oldString": "two", "newString": "three"})),
		"successfully",
	)
	if got := b.ReadFile("f"); got != "zero\nthree\n" {
		t.Fatal(got)
	}
}

// A change between the permission request and the answer is not overwritten, unless the edit still makes the same
// change.
func TestChangedWhileAsking(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile("f", "one\ntwo\n")
	once := sync.OnceFunc(func() { b.WriteFile("f", "one!\ntwo\n") })
	b.OnAsk = func(tool.Request) { once() }
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("edit", tooltest.Input{"filePath": "f", "oldString": "one", "newString": "x"})),
		"while permission was asked for",
	)
	if got := b.ReadFile("f"); got != "one!\ntwo\n" {
		t.Fatal(got)
	}
	again := sync.OnceFunc(func() { b.WriteFile("f", "zero\none!\ntwo\n") })
	b.OnAsk = func(tool.Request) { again() }
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("edit", tooltest.Input{"filePath": "f", "oldString": "two", "newString": "x"})),
		"successfully",
	)
	if got := b.ReadFile("f"); got != "zero\none!\nx\n" {
		t.Fatal(got)
	}
}

// A link that is created while the permission request is open is not followed.
func TestLinkAppearsWhileAsking(t *testing.T) {
	b := tooltest.New(t)
	secret := b.WriteFile(b.OutsidePath("secret.txt"), "secret\n")
	b.WriteFile("dir/f", "old\n")
	b.OnAsk = func(tool.Request) {
		_ = os.RemoveAll(b.Path("dir"))
		_ = os.Symlink(b.OutsidePath(""), b.Path("dir"))
	}
	s := b.Call("write", tooltest.Input{"filePath": "dir/secret.txt", "content": "x"})
	if s.Error == nil || b.ReadFile(secret) != "secret\n" {
		t.Fatal(tooltest.TextOf(s))
	}
	_ = os.Remove(b.Path("dir"))
	b.WriteFile("dir/secret.txt", "harmless\n")
	if s := b.Call("read", tooltest.Input{"filePath": "dir/secret.txt"}); s.Error == nil {
		t.Fatal(tooltest.TextOf(s))
	}
}

func TestParallelEditsOfOneFile(t *testing.T) {
	b := tooltest.New(t)
	var content strings.Builder
	for i := range 20 {
		fmt.Fprintf(&content, "line %02d\n", i)
	}
	b.WriteFile("f", content.String())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := b.Call(
				"edit",
				tooltest.Input{
					"filePath": "f", "oldString": fmt.Sprintf("line %02d\n", i), "newString": fmt.Sprintf("LINE %02d\n", i),
				},
			)
			if s.Error != nil {
				t.Error(tooltest.TextOf(s))
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(strings.ToUpper(content.String()), b.ReadFile("f")); diff != "" {
		t.Fatal(diff)
	}
}

// The model does not see the line ends of a file, so write keeps them.
func TestWriteKeepsLineEnds(t *testing.T) {
	for name, c := range map[string]struct{ file, before, content, want string }{
		"CRLF":          {"f", "@echo off\r\necho hi\r\n", "@echo off\necho bye\n", "@echo off\r\necho bye\r\n"},
		"CRLF and BOM":  {"f", "\ufeffone\r\n", "two\n", "\ufefftwo\r\n"},
		"mixed":         {"f", "one\r\ntwo\n", "two\n", "two\n"},
		"LF":            {"f", "one\n", "two\n", "two\n"},
		"no line":       {"f", "one", "two\n", "two\n"},
		"CRLF in both":  {"f", "one\r\n", "two\r\nthree\n", "two\r\nthree\n"},
		"new batch":     {"run.CMD", "", "one\ntwo\n", "one\r\ntwo\r\n"},
		"existing .bat": {"run.bat", "one\n", "two\n", "two\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := tooltest.New(t)
			b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
			if c.before != "" {
				b.WriteFile(c.file, c.before)
				b.Call("read", tooltest.Input{"filePath": c.file})
			}
			s := b.Call("write", tooltest.Input{"filePath": c.file, "content": c.content})
			if got := b.ReadFile(c.file); s.Error != nil || got != c.want {
				t.Errorf("the file has %q, not %q: %s", got, c.want, tooltest.TextOf(s))
			}
		})
	}
}
