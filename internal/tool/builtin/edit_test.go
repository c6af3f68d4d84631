package builtin_test

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
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
		{name: "missing", content: "a\n", old: "nope", new: "x", want: "!Could not find oldString in the file. It must match exactly, including whitespace, indentation, and line endings."},
		{name: "same", content: "a\n", old: "a", new: "a", want: "!oldString and newString are the same"},
		{name: "regular expression characters", content: "f(x)[0].*\n", old: "(x)[0].*", new: "$1", want: "f$1\n"},
		{name: "line ends", content: "a\r\nb\r\nc\r\n", old: "a\nb", new: "x\ny", want: "x\r\ny\r\nc\r\n"},
		{name: "line ends in the call", content: "a\nb\nc\n", old: "a\r\nb", new: "x\r\ny", want: "x\ny\nc\n"},
		{name: "lines that end in both ways", content: "a\r\nb\nc\r\n", old: "b\nc", new: "X\nY", want: "a\r\nX\nY\r\n"},
		{name: "trimmed keeps the carriage return", content: "x \r\ny\r\nz\r\n", old: "x\ny", new: "X\nY", want: "X\r\nY\r\nz\r\n"},
		{name: "indented keeps the carriage return", content: "\tif x {\r\n\t\ty\r\n\t}\r\nz\r\n", old: "if x {\n\ty\n}", new: "go", want: "go\r\nz\r\n"},
		{name: "anchors keep the carriage return", content: "f {\r\n  let a = 1;\r\n  let bc = 2;\r\n}\r\nz\r\n", old: "f {\n  let a = 1;\n  let b = 2;\n}", new: "go", want: "go\r\nz\r\n"},
		{name: "white space keeps the carriage return", content: "a   b\r\nc    d\r\nz\r\n", old: "a b\nc d", new: "go", want: "go\r\nz\r\n"},
		{name: "one line becomes two", content: "a\r\nb\r\n", old: "b", new: "X\nY", want: "a\r\nX\r\nY\r\n"},
		{name: "byte order mark in both", content: "\uFEFFa\nb\n", old: "\uFEFFa", new: "\uFEFFx", want: "\uFEFFx\nb\n"},
		{name: "byte order mark", content: "\uFEFFa\nb\n", old: "a", new: "x", want: "\uFEFFx\nb\n"},
		{name: "bytes that are no text", content: "caf\xe9\nb\n", old: "b", new: "x", want: "caf\xe9\nx\n"},
		{name: "binary", content: "a\x00b", old: "a", new: "x", want: "!binary file"},

		{name: "lines trimmed", content: "if x {\n    one()  \n\ttwo()\n}\n", old: "one()\ntwo()\n", new: "three()\n", want: "if x {\nthree()\n}\n", contains: "white space around lines"},
		{name: "trimmed keeps the newline", content: "  a\n  b\nc\n", old: "a\nb", new: "x", want: "x\nc\n"},
		{
			name: "anchors", content: "func f() {\n\tone := 1\n\ttwo := 22\n\treturn one\n}\nrest\n",
			old: "func f() {\n\tone := 1\n\ttwo := 2\n\treturn one\n}", new: "func g() {}", want: "func g() {}\nrest\n", contains: "between the first and the last",
		},
		{
			name: "anchors pick the most like", content: "begin\naaaaaaaa\nend\nbegin\nbbbbbbbc\nend\n",
			old: "begin\nbbbbbbbb\nend", new: "x", want: "begin\naaaaaaaa\nend\nx\n",
		},
		{name: "anchors too different", content: "begin\nqwertyuiop\nend\n", old: "begin\nzzzzzzzzzz\nend", new: "x", want: "!Could not find"},
		{name: "white space within a line", content: "x  :=   f( a,  b )\n", old: "x := f( a, b )", new: "y", want: "y\n"},
		{name: "white space around words", content: "call(a,   b); more()\n", old: "call(a, b);", new: "x;", want: "x; more()\n"},
		{name: "white space over lines", content: "a  b\nc   d\n", old: "a b\nc d", new: "x", want: "x\n"},
		{name: "indentation", content: "\t\tif a {\n\t\t\tb()\n\t\t}\n", old: "if a {\n\tb()\n}", new: "c()", want: "c()\n"},
		{name: "escapes", content: "say(\"hi\")\tok\n", old: `say(\"hi\")\tok`, new: "x", want: "x\n"},
		{name: "escaped newlines", content: "a\nb\nc\n", old: `a\nb`, new: "x", want: "x\nc\n"},
		{name: "blank around", content: "foo(bar)\n", old: "\n  foo(bar)  \n", new: "x", want: "x\n"},
		{
			name: "context", content: "start\nkeep\nreally different line\nend\n",
			old: "start\nkeep\nnothing alike whatsoever 12345\nend", new: "x", want: "x\n", contains: "some lines between",
		},
		{name: "tolerant but ambiguous", content: "  a\n  b\n...\n  a\n  b\n", old: "a\nb", new: "x", want: "!Found multiple matches"},
		{name: "white space in the first of two", content: "a  b\na   b\n", old: "a b", new: "x", want: "x\na   b\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t)
			b.file("f", c.content)
			s := b.call("edit", in{"filePath": "f", "oldString": c.old, "newString": c.new, "replaceAll": c.all})
			if msg, isErr := strings.CutPrefix(c.want, "!"); isErr {
				if s.Error == nil || !strings.Contains(s.Error.Message, msg) || b.content("f") != c.content {
					t.Fatalf("%s\n%q", says(s), b.content("f"))
				}
				return
			}
			mustHave(t, says(s), c.contains)
			if diff := cmp.Diff(c.want, b.content("f")); s.Error != nil || diff != "" {
				t.Fatalf("%s\n%s", says(s), diff)
			}
		})
	}
}

// The best match must not be much larger than what was looked for.
func TestEditRefusesOversizedMatch(t *testing.T) {
	b := newBench(t)
	content := "start\n" + strings.Repeat("word ", 400) + "\nend\n"
	b.file("f", content)
	s := b.call("edit", in{"filePath": "f", "oldString": "start\nend of it\nend", "newString": "x"})
	if s.Error == nil || b.content("f") != content {
		t.Fatal(says(s))
	}
}

func TestChangeRefusesLargeFiles(t *testing.T) {
	b := newBench(t)
	if err := os.Truncate(b.file("f", "word"), 16<<20+1); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]tool.Settlement{
		"edit":  b.call("edit", in{"filePath": "f", "oldString": "word", "newString": "x"}),
		"write": b.call("write", in{"filePath": "f", "content": "x"}),
	} {
		mustHave(t, name+says(s), "larger than 16 MiB")
	}
}

func TestEditCreates(t *testing.T) {
	b := newBench(t)
	s := b.call("edit", in{"filePath": "a/b/new.txt", "oldString": "", "newString": "hello\n"})
	if s.Error != nil || b.content("a/b/new.txt") != "hello\n" {
		t.Fatal(says(s))
	}
	mustHave(t, says(b.call("edit", in{"filePath": "a/b/new.txt", "oldString": "", "newString": "x"})), "exists already")
	mustHave(t, says(b.call("edit", in{"filePath": "none", "oldString": "x", "newString": "y"})), "File not found: none")
	mustHave(t, says(b.call("edit", in{"filePath": "a", "oldString": "x", "newString": "y"})), "is a directory")
	if b.content("a/b/new.txt") != "hello\n" {
		t.Fatal("overwritten")
	}
}

func TestEditAsksWithTheDiff(t *testing.T) {
	b := newBench(t)
	path := b.file("src/main.py", "def add(a, b):\n    return a + b\n\n\nprint(add(1, 2))\n")
	var asked tool.Request
	b.onAsk = func(r tool.Request) {
		asked = r
		if got := b.content(path); strings.Contains(got, "int(a)") {
			t.Error("changed before it was allowed")
		}
	}
	s := b.call("edit", in{"filePath": path, "oldString": "return a + b", "newString": "return int(a) + int(b)"})
	diff := "Index: " + path + "\n" + strings.Repeat("=", 67) + "\n--- " + path + "\n+++ " + path +
		"\n@@ -1,5 +1,5 @@\n def add(a, b):\n-    return a + b\n+    return int(a) + int(b)\n \n \n print(add(1, 2))\n"
	want := tool.Request{Action: "edit", Resources: []string{"src/main.py"}, Save: []string{"*"}}
	want.Metadata, asked.Metadata = nil, append(asked.Metadata[:0:0], asked.Metadata...)
	if got := member(t, asked.Metadata, "diff"); got != quote(diff) {
		t.Fatal(got)
	}
	asked.Metadata = nil
	if d := cmp.Diff(want, asked); d != "" {
		t.Fatal(d)
	}
	if got := member(t, s.Output.Structured, "diff"); got != quote(diff) {
		t.Fatal(got)
	}
	mustHave(t, string(s.Output.Structured), `"additions":1`, `"deletions":1`, `"diagnostics":{}`)
}

func quote(s string) string { return string(mustJSON(s)) }

func TestEditDenied(t *testing.T) {
	b := newBench(t)
	b.file("f", "a\n")
	b.rules = append(allowAll[:len(allowAll):len(allowAll)], session.Rule{Action: "edit", Resource: "*", Effect: session.Deny})
	for _, c := range []struct {
		tool string
		in   in
	}{
		{"edit", in{"filePath": "f", "oldString": "a", "newString": "b"}},
		{"edit", in{"filePath": "new/x", "oldString": "", "newString": "b"}},
		{"write", in{"filePath": "f", "content": "b"}},
		{"write", in{"filePath": "new/x", "content": "b"}},
	} {
		if s := b.call(c.tool, c.in); s.Denied == nil || s.Error.Reason != session.ReasonDenied {
			t.Fatal(says(s))
		}
	}
	if b.content("f") != "a\n" {
		t.Fatal("written")
	}
	if _, err := os.Stat(b.path("new")); err == nil {
		t.Fatal("a directory was made")
	}
}

func TestWrite(t *testing.T) {
	b := newBench(t)
	s := b.call("write", in{"filePath": "deep/er/new.txt", "content": "fresh\n"})
	if says(s) != "Wrote file successfully." || b.content("deep/er/new.txt") != "fresh\n" || s.Output.Title != "deep/er/new.txt" ||
		member(t, s.Output.Structured, "exists") != "false" {
		t.Fatalf("%s %+v", says(s), s.Output)
	}
	b.file("mark.txt", "\uFEFFold")
	s = b.call("write", in{"filePath": "mark.txt", "content": "new"})
	if b.content("mark.txt") != "\uFEFFnew" || member(t, s.Output.Structured, "exists") != "true" {
		t.Fatalf("%q", b.content("mark.txt"))
	}
	script := b.file("run.sh", "old")
	if err := os.Chmod(script, 0o751); err != nil {
		t.Fatal(err)
	}
	b.call("write", in{"filePath": "run.sh", "content": "new"})
	if info, err := os.Stat(script); err != nil || info.Mode().Perm() != 0o751 {
		t.Fatalf("%v %v", info.Mode(), err)
	}
	frozen := b.file("frozen", "old")
	if err := os.Chmod(frozen, 0o444); err != nil {
		t.Fatal(err)
	}
	mustHave(t, says(b.call("write", in{"filePath": "frozen", "content": "new"})), "read-only")
	mustHave(t, says(b.call("write", in{"filePath": "frozen/below", "content": "new"})), "not a directory")
	mustHave(t, says(b.call("write", in{"filePath": ".", "content": "new"})), "is a directory")
	b.link("run.sh", "link.sh")
	b.call("write", in{"filePath": "link.sh", "content": "through"})
	if info, err := os.Lstat(b.path("link.sh")); err != nil || info.Mode()&fs.ModeSymlink == 0 || b.content("run.sh") != "through" {
		t.Fatal("the link was replaced")
	}
	left, err := os.ReadDir(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Fatal(e.Name())
		}
	}
}

// A file that somebody else changed since the session read it is not written.
func TestChangedSinceRead(t *testing.T) {
	b := newBench(t)
	b.file("f", "one\n")
	edit := in{"filePath": "f", "oldString": "one", "newString": "two"}
	b.call("read", in{"filePath": "f"})
	b.file("f", "zero\none\n")
	mustHave(t, says(b.call("edit", edit)), "was changed (at", "Read it again")
	mustHave(t, says(b.call("write", in{"filePath": "f", "content": "x"})), "was changed (at")
	b.call("read", in{"filePath": "f"})
	mustHave(t, says(b.call("edit", edit)), "successfully")
	mustHave(t, says(b.call("edit", in{"filePath": "f", "oldString": "two", "newString": "three"})), "successfully")
	if got := b.content("f"); got != "zero\nthree\n" {
		t.Fatal(got)
	}
}

// What changes between question and answer is not overwritten, unless the same change still fits.
func TestChangedWhileAsking(t *testing.T) {
	b := newBench(t)
	b.file("f", "one\ntwo\n")
	once := sync.OnceFunc(func() { b.file("f", "one!\ntwo\n") })
	b.onAsk = func(tool.Request) { once() }
	mustHave(t, says(b.call("edit", in{"filePath": "f", "oldString": "one", "newString": "x"})), "while permission was asked for")
	if got := b.content("f"); got != "one!\ntwo\n" {
		t.Fatal(got)
	}
	again := sync.OnceFunc(func() { b.file("f", "zero\none!\ntwo\n") })
	b.onAsk = func(tool.Request) { again() }
	mustHave(t, says(b.call("edit", in{"filePath": "f", "oldString": "two", "newString": "x"})), "successfully")
	if got := b.content("f"); got != "zero\none!\nx\n" {
		t.Fatal(got)
	}
}

// A link that appears while a question is open is not followed.
func TestLinkAppearsWhileAsking(t *testing.T) {
	b := newBench(t)
	secret := b.file(b.outside("secret.txt"), "secret\n")
	b.file("dir/f", "old\n")
	b.onAsk = func(tool.Request) {
		_ = os.RemoveAll(b.path("dir"))
		_ = os.Symlink(b.outside(""), b.path("dir"))
	}
	s := b.call("write", in{"filePath": "dir/secret.txt", "content": "x"})
	if s.Error == nil || b.content(secret) != "secret\n" {
		t.Fatal(says(s))
	}
	_ = os.Remove(b.path("dir"))
	b.file("dir/secret.txt", "harmless\n")
	if s := b.call("read", in{"filePath": "dir/secret.txt"}); s.Error == nil {
		t.Fatal(says(s))
	}
}

func TestParallelEditsOfOneFile(t *testing.T) {
	b := newBench(t)
	var content strings.Builder
	for i := range 20 {
		fmt.Fprintf(&content, "line %02d\n", i)
	}
	b.file("f", content.String())
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			s := b.call("edit", in{"filePath": "f", "oldString": fmt.Sprintf("line %02d\n", i), "newString": fmt.Sprintf("LINE %02d\n", i)})
			if s.Error != nil {
				t.Error(says(s))
			}
		})
	}
	wg.Wait()
	if diff := cmp.Diff(strings.ToUpper(content.String()), b.content("f")); diff != "" {
		t.Fatal(diff)
	}
}
