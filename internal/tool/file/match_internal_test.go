package file

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Exactly one piece of the content is replaced, and it is not much larger than the text searched for.
func FuzzReplace(f *testing.F) {
	for _, s := range [][3]string{
		{"a\nb\nc\n", "b", "x"},
		{"  if x {\n\ty()\n  }\n", "if x {\ny()\n}", "z"},
		{"begin\nab\nend\n", "begin\nac\nend", ""},
		{"a\tb \"c\"\n", `a\tb \"c\"`, "x"},
		{"a\r\nb\r\n", "a\nb", "y"},
		{"\xff\x00", " \xff ", "x"},
		{"x\n\n\nx", "\n\n", "\n"},
	} {
		f.Add(s[0], s[1], s[2], false)
		f.Add(s[0], s[1], s[2], true)
	}
	f.Fuzz(func(t *testing.T, content, old, neu string, all bool) {
		if old == "" || len(content) > 4096 || len(old) > 1024 {
			return // edit refuses an empty oldString
		}
		r, err := replaceText(content, old, neu, all)
		if err != nil || all {
			return
		}
		taken := len(content) + len(neu) - len(r.content)
		if taken <= 0 || taken > len(content) {
			t.Fatalf("%d bytes were taken out of %q", taken, content)
		}
		for at := 0; at+taken <= len(content); at++ {
			if r.content != content[:at]+neu+content[at+taken:] {
				continue
			}
			if isOversized(content[at:at+taken], old) {
				t.Fatalf("%q gave way to %q, looking for %q", content[at:at+taken], neu, old)
			}
			return
		}
		t.Fatalf("%q became %q", content, r.content)
	})
}

func TestDisproportionate(t *testing.T) {
	for _, c := range []struct {
		piece, old string
		want       bool
	}{
		{"a", "a", false},
		{"a\nb\nc", "a", false},
		{"a\nb\nc\nd", "a", true},
		{"a\nb", "a", false},
		{"1\n2\n3\n4\n5\n6", "1\n2\n3", true},
		{"1\n2\n3\n4\n5", "1\n2\n3", false},
		{strings.Repeat("x", 5000), "x", false}, // one line
		{"x\n" + strings.Repeat("x", 5000), "x\ny", true},
	} {
		if got := isOversized(c.piece, c.old); got != c.want {
			t.Errorf("%.20q for %q: %v", c.piece, c.old, got)
		}
	}
}

// Each matcher alone: the first piece that it yields.
func TestFinders(t *testing.T) {
	first := func(find func(string, string, func(string) bool), content, old string) string {
		got := "-"
		find(content, old, func(piece string) bool {
			got = piece
			return false
		})
		return got
	}
	for _, c := range []struct {
		name               string
		find               func(string, string, func(string) bool)
		content, old, want string
	}{
		{"exact", findExact, "xaby", "ab", "ab"},
		{"exact, none", findExact, "xaby", "ba", "-"},
		{"trimmed lines", findTrimmedLines, "q\n  a \n\tb\nz", "a\nb", "  a \n\tb"},
		{"anchored", findAnchored, "q\n{\nabcdef\n}\nz", "{\nabcdeg\n}", "{\nabcdef\n}"},
		{
			"anchored, other size", findAnchored, "{\n1\n2\n3\n4\n5\n6\n}", "{\n1\n2\n3\n4\n5\n6\n7\n}",
			"{\n1\n2\n3\n4\n5\n6\n}",
		},
		{"anchored, two lines", findAnchored, "{\n}", "{\n}", "-"},
		{"collapsed line", findCollapsed, "a   b", "a b", "a   b"},
		{"collapsed words", findCollapsed, "x a   b y", "a b", "a   b"},
		{"indented", findIndented, "    a\n      b\n", "a\n  b", "    a\n      b"},
		{"indented, other shape", findIndented, "    a\n     b\n", "a\n  b", "-"},
		{"unescaped", findUnescaped, "a\tb", `a\tb`, "a\tb"},
		{"unescaped content", findUnescaped, `say("a\\nb")`, `say("a\nb")`, "-"},
		{"trimmed", findTrimmed, "xaby", " ab ", "ab"},
		{"trimmed, nothing to trim", findTrimmed, "xaby", "ab", "-"},
		{"context", findContext, "(\na\nb\nc\n)", "(\na\nb\nX\n)", "(\na\nb\nc\n)"},
		{"context, too little", findContext, "(\na\nb\nc\n)", "(\na\nY\nX\n)", "-"},
	} {
		if diff := cmp.Diff(c.want, first(c.find, c.content, c.old)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
