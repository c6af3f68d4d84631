package builtin_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/builtin"
)

func TestReadFile(t *testing.T) {
	b := newBench(t)
	path := b.file("a.txt", "alpha\nbeta\ngamma\n")
	s := b.call("read", in{"filePath": "a.txt"})
	want := "<path>" + path + "</path>\n<type>file</type>\n<content>\n1: alpha\n2: beta\n3: gamma\n\n(End of file - total 3 lines)\n</content>"
	if diff := cmp.Diff(want, says(s)); diff != "" {
		t.Fatal(diff)
	}
	if s.Output.Title != "a.txt" || member(t, s.Output.Structured, "preview") != `"alpha\nbeta\ngamma"` || member(t, s.Output.Structured, "truncated") != "false" {
		t.Fatalf("%q %s", s.Output.Title, s.Output.Structured)
	}
	if diff := cmp.Diff([]string{"read a.txt"}, b.asks()); diff != "" {
		t.Fatal(diff)
	}
}

func TestReadPages(t *testing.T) {
	b := newBench(t)
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "l%d\n", i+1)
	}
	b.file("many.txt", many.String())
	b.file("wide.txt", strings.Repeat(strings.Repeat("x", 69)+"\n", 1000))
	b.file("long.txt", strings.Repeat("é", 3000)+"\nnext")
	b.file("huge.txt", strings.Repeat("a", 200_000)+"\nb\nc")
	b.file("empty.txt", "")
	b.file("crlf.txt", "\uFEFFone\r\ntwo\r\n")
	b.file("latin.txt", "caf\xe9\n")
	for _, c := range []struct {
		name string
		in   in
		has  []string
	}{
		{"default page", in{"filePath": "many.txt"}, []string{"1: l1\n", "2000: l2000\n", "(Showing lines 1-2000 of 5000. Use offset=2001 to continue.)"}},
		{"middle", in{"filePath": "many.txt", "offset": 10, "limit": 2}, []string{"<content>\n10: l10\n11: l11\n\n(Showing lines 10-11 of 5000. Use offset=12"}},
		{"last", in{"filePath": "many.txt", "offset": 4999}, []string{"5000: l5000\n\n(End of file - total 5000 lines)"}},
		{"beyond", in{"filePath": "many.txt", "offset": 5001}, []string{"tool: Offset 5001 is beyond the end", "5000 lines"}},
		{"the last without its end", in{"filePath": "long.txt", "offset": 2}, []string{"2: next\n\n(End of file - total 2 lines)"}},
		{"beyond one without its end", in{"filePath": "long.txt", "offset": 4}, []string{"tool: Offset 4 is beyond the end", "2 lines"}},
		{"long line passed by", in{"filePath": "huge.txt", "offset": 2, "limit": 1}, []string{"2: b\n\n(Showing lines 2-2 of 3. Use"}},
		{"offset zero", in{"filePath": "many.txt", "offset": 0, "limit": 1}, []string{"1: l1\n"}},
		{"capped", in{"filePath": "wide.txt"}, []string{"(Output capped at 50 KB. Showing lines 1-731. Use offset=732 to continue.)"}},
		{"long line", in{"filePath": "long.txt"}, []string{"1: " + strings.Repeat("é", 2000) + "... (line cut at 2000 characters)\n2: next\n"}},
		{"empty", in{"filePath": "empty.txt"}, []string{"(End of file - total 0 lines)"}},
		{"line ends and byte order mark", in{"filePath": "crlf.txt"}, []string{"1: one\n2: two\n\n"}},
		{"other encoding", in{"filePath": "latin.txt"}, []string{"1: caf\uFFFD\n"}},
	} {
		t.Run(c.name, func(t *testing.T) { mustHave(t, says(b.call("read", c.in)), c.has...) })
	}
}

func TestReadRefuses(t *testing.T) {
	b := newBench(t)
	b.file("server.go", "x")
	b.file("nul.txt", "text\x00more")
	b.file("ctrl.txt", strings.Repeat("\x01a", 50))
	b.file("lib.so", "text")
	if err := syscall.Mkfifo(b.path("pipe"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.link("loop", "loop")
	for path, want := range map[string]string{
		"sever.go":        "File not found: " + b.path("sever.go") + "\n\nDid you mean this?\n" + b.path("server.go"),
		"zzz/none":        "File not found: ",
		"nul.txt":         "binary file (a NUL byte at offset 4)",
		"ctrl.txt":        "binary file",
		"lib.so":          "binary file (by its name)",
		"pipe":            "a named pipe, not a regular file",
		"loop":            "cannot be resolved",
		"server.go/below": "not a directory",
		"a\x00b":          "NUL byte",
	} {
		s := b.call("read", in{"filePath": path})
		if s.Error == nil || s.Error.Reason != session.ReasonTool || !strings.Contains(s.Error.Message, want) {
			t.Errorf("%q: %s", path, says(s))
		}
	}
}

func TestReadDirectory(t *testing.T) {
	b := newBench(t)
	b.file("b.txt", "")
	b.file("A/x", "")
	b.file(".hidden", "")
	b.link("A", "link")
	b.link("/etc", "escape")
	s := b.call("read", in{"filePath": "."})
	want := "<path>" + b.dir + "</path>\n<type>directory</type>\n<entries>\n.hidden\nA/\nb.txt\nescape\nlink/\n\n(5 entries)\n</entries>"
	if diff := cmp.Diff(want, says(s)); diff != "" {
		t.Fatal(diff)
	}
	mustHave(t, says(b.call("read", in{"filePath": b.dir, "offset": 2, "limit": 2})), "<entries>\nA/\nb.txt\n\n(Showing entries 2-3 of 5. Use offset=4")
	if diff := cmp.Diff([]string{"read .", "read ."}, b.asks()); diff != "" {
		t.Fatal(diff)
	}
}

func TestReadMedia(t *testing.T) {
	b := newBench(t)
	for name, c := range map[string]struct{ content, mime string }{
		"a.png":  {"\x89PNG\r\n\x1a\n....", "image/png"},
		"b":      {"\xff\xd8\xff\xe0data", "image/jpeg"},
		"c.gif":  {"GIF89a\x00", "image/gif"},
		"d.webp": {"RIFF\x00\x00\x00\x00WEBPVP8 ", "image/webp"},
		"e.pdf":  {"%PDF-1.7\n\x00", "application/pdf"},
	} {
		b.file(name, c.content)
		s := b.call("read", in{"filePath": name})
		if s.Error != nil || len(s.Output.Content) != 2 {
			t.Fatalf("%s: %s", name, says(s))
		}
		got := s.Output.Content[1]
		want := session.ToolContent{Type: "file", Mime: c.mime, Name: name, URI: "data:" + c.mime + ";base64," + base64.StdEncoding.EncodeToString([]byte(c.content))}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
	if err := os.Truncate(b.file("big.png", "\x89PNG\r\n\x1a\n"), 20<<20+1); err != nil {
		t.Fatal(err)
	}
	mustHave(t, says(b.call("read", in{"filePath": "big.png"})), "larger than 20 MiB")
}

func TestReadManagedOutputWithoutAsking(t *testing.T) {
	b := newBench(t)
	path := b.file(b.outside("tool-output/tool_abc"), "kept\n")
	other := b.file(b.outside("tool-output/other"), "secret\n")
	mustHave(t, says(b.call("read", in{"filePath": path})), "1: kept")
	if got := b.asks(); len(got) != 0 {
		t.Fatal(got)
	}
	for _, path := range []string{
		other, b.file(b.outside("tool-output/sub/tool_abc"), "secret\n"), b.file(b.outside("tool-output-2/tool_abc"), "secret\n"),
	} {
		if s := b.call("read", in{"filePath": path}); s.Denied == nil {
			t.Fatalf("%s: %s", path, says(s))
		}
	}
	if err := os.Symlink(other, b.outside("tool-output/tool_link")); err != nil {
		t.Fatal(err)
	}
	if s := b.call("read", in{"filePath": b.outside("tool-output/tool_link")}); s.Denied == nil {
		t.Fatal(says(s))
	}
	mustHave(t, says(b.call("grep", in{"path": path, "pattern": "kept"})), "Line 1: kept")
}

// The root of the file system, which is the worktree of what has none, confines nothing.
func TestNoWorktree(t *testing.T) {
	for _, worktree := range []string{"", "/"} {
		b := newBench(t, func(c *builtin.Config) { c.Worktree = worktree })
		b.file("in.txt", "in\n")
		secret := b.file(b.outside("other/secret.txt"), "secret\n")
		mustHave(t, says(b.call("read", in{"filePath": "in.txt"})), "1: in")
		if s := b.call("read", in{"filePath": secret}); s.Denied == nil {
			t.Errorf("worktree %q: %s", worktree, says(s))
		}
		want := []string{"read in.txt", "external_directory " + filepath.Dir(secret) + "/*"}
		if diff := cmp.Diff(want, b.asks()); diff != "" {
			t.Errorf("worktree %q: %s", worktree, diff)
		}
	}
}

// What "always" will allow is the directory that was asked for, whatever signs its name holds.
func TestOutsideIsSavedLiterally(t *testing.T) {
	b := newBench(t)
	path := b.file(b.outside("o*er/secret.txt"), "secret\n")
	var saved []string
	b.onAsk = func(r tool.Request) { saved = r.Save }
	b.call("read", in{"filePath": path})
	want := []string{strings.ReplaceAll(filepath.Dir(path), "*", `\*`) + "/*"}
	if diff := cmp.Diff(want, saved); diff != "" {
		t.Fatal(diff)
	}
}

// What lies outside is asked for by its directory first, in the words of what it resolves to.
func TestOutside(t *testing.T) {
	b := newBench(t)
	secret := b.file(b.outside("other/secret.txt"), "secret\n")
	dir := filepath.Dir(secret)
	b.link(secret, "link.txt")
	b.link(dir, "linkdir")
	b.link(b.outside("other/new.txt"), "dangling.txt")
	b.file("sub/in.txt", "in\n")
	b.link("sub/in.txt", "inner.txt")
	b.link(b.path("sub"), "abs")
	for _, c := range []struct {
		name string
		tool string
		in   in
		asks []string
	}{
		{"absolute", "read", in{"filePath": secret}, []string{"external_directory " + dir + "/*"}},
		{"dots", "read", in{"filePath": "../other/secret.txt"}, []string{"external_directory " + dir + "/*"}},
		{"link to a file", "read", in{"filePath": "link.txt"}, []string{"external_directory " + dir + "/*"}},
		{"below a link", "read", in{"filePath": "linkdir/secret.txt"}, []string{"external_directory " + dir + "/*"}},
		{"link to a directory", "read", in{"filePath": "linkdir"}, []string{"external_directory " + dir + "/*"}},
		{"write", "write", in{"filePath": "linkdir/new.txt", "content": "x"}, []string{"external_directory " + dir + "/*"}},
		{"write through a link to nothing", "write", in{"filePath": "dangling.txt", "content": "x"}, []string{"external_directory " + dir + "/*"}},
		{"edit", "edit", in{"filePath": "link.txt", "oldString": "secret", "newString": "x"}, []string{"external_directory " + dir + "/*"}},
		{"list", "list", in{"path": "linkdir"}, []string{"external_directory " + dir + "/*"}},
		{"glob", "glob", in{"path": "linkdir", "pattern": "*"}, []string{"external_directory " + dir + "/*"}},
		{"glob by its pattern", "glob", in{"pattern": dir + "/**/*.txt"}, []string{"external_directory " + dir + "/*"}},
		{"glob with dots", "glob", in{"pattern": "../other/*"}, []string{"external_directory " + dir + "/*"}},
		{"grep", "grep", in{"path": dir, "pattern": "secret"}, []string{"external_directory " + dir + "/*"}},
		{"grep a link", "grep", in{"path": "link.txt", "pattern": "secret"}, []string{"external_directory " + dir + "/*"}},
		{"bash", "bash", in{"command": "ls", "workdir": dir}, []string{"external_directory " + dir + "/*"}},
		{"link within", "read", in{"filePath": "inner.txt"}, []string{"read sub/in.txt"}},
		{"absolute link within", "read", in{"filePath": "abs/in.txt"}, []string{"read sub/in.txt"}},
		{"missing outside", "read", in{"filePath": "/nonexistent/x"}, []string{"external_directory /nonexistent/*"}},
		{"root", "read", in{"filePath": "/etc-none"}, []string{"external_directory /*"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := b.call(c.tool, c.in)
			if diff := cmp.Diff(c.asks, b.asks()); diff != "" {
				t.Fatal(diff)
			}
			if denied := strings.HasPrefix(c.asks[0], "external"); denied != (s.Denied != nil) {
				t.Fatal(says(s))
			}
		})
	}
	if got := b.content(secret); got != "secret\n" {
		t.Fatal(got)
	}
	if _, err := os.Stat(b.outside("other/new.txt")); err == nil {
		t.Fatal("it was written")
	}

	b.rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	mustHave(t, says(b.call("read", in{"filePath": "link.txt"})), "1: secret")
	mustHave(t, says(b.call("write", in{"filePath": "linkdir/a/b/new.txt", "content": "x"})), "Wrote file")
	mustHave(t, says(b.call("grep", in{"path": dir, "pattern": "secret"})), "Found 1 matches")
	want := []string{
		"external_directory " + dir + "/*", "read " + secret,
		"external_directory " + dir + "/a/b/*", "edit " + dir + "/a/b/new.txt",
		"external_directory " + dir + "/*", "grep secret", "read " + secret,
	}
	if diff := cmp.Diff(want, b.asks()); diff != "" {
		t.Fatal(diff)
	}
}

// A file that is too large to be changed is read without a digest, and told from another by size and time.
func TestReadLargeFileHasNoDigest(t *testing.T) {
	b := newBench(t)
	if err := os.Truncate(b.file("large", "one\ntwo\n"+strings.Repeat("x", 4096)+"\n"), 17<<20); err != nil {
		t.Fatal(err)
	}
	b.file("small", "one\n")
	for name, want := range map[string]string{"large": "17825792@", "small": `"}`} {
		s := b.call("read", in{"filePath": name, "limit": 1})
		if seen := member(t, s.Output.Structured, "seen"); s.Error != nil || !strings.Contains(seen, want) || strings.Contains(seen, "@") != (name == "large") {
			t.Errorf("%s: %s %.200s", name, seen, says(s))
		}
	}
}

// What comes before the page is not looked at line by line, so that the middle of gigabytes is reached.
func BenchmarkReadBehindMuch(b *testing.B) {
	bench := newBench(b)
	bench.file("log.txt", strings.Repeat("0123456789abcde\n", 16<<20))
	b.SetBytes(256 << 20)
	for b.Loop() {
		if got := says(bench.call("read", in{"filePath": "log.txt", "offset": 16<<20 - 100, "limit": 1})); !strings.Contains(got, ": 0123456789abcde\n") {
			b.Fatal(got)
		}
	}
}
