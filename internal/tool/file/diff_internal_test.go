package file

import (
	"testing"
)

// Diffs look as OpenCode's do: byte order marks and carriage returns appear only if nothing else differs, and an empty
// range begins at line 0.
func TestDiffShowsText(t *testing.T) {
	for _, c := range []struct{ name, before, after, want string }{
		{"a file that is new", "", "born\n", "@@ -0,0 +1,1 @@\n+born\n"},
		{"a file that is emptied", "gone\n", "", "@@ -1,1 +0,0 @@\n-gone\n"},
		{"lines that end like on Windows", "one\r\ntwo\r\n", "one\r\n2\r\n", "@@ -1,2 +1,2 @@\n one\n-two\n+2\n"},
		{"other line ends", "one\r\n", "one\n", "@@ -1,1 +1,1 @@\n-one\r\n+one\n"},
		{"a mark of the byte order", "\uFEFFa\nb\n", "\uFEFFA\nb\n", "@@ -1,2 +1,2 @@\n-a\n+A\n b\n"},
		{"a mark that goes", "\uFEFFa\n", "a\n", "@@ -1,1 +1,1 @@\n-\uFEFFa\n+a\n"},
		{
			"four lines around", "1\n2\n3\n4\n5\n6\n7\n8\n9\n0\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\nten\n",
			"@@ -6,5 +6,5 @@\n 6\n 7\n 8\n 9\n-0\n+ten\n",
		},
		{
			"changes that eight lines part", "a\n1\n2\n3\n4\n5\n6\n7\n8\nb\n", "A\n1\n2\n3\n4\n5\n6\n7\n8\nB\n",
			"@@ -1,10 +1,10 @@\n-a\n+A\n 1\n 2\n 3\n 4\n 5\n 6\n 7\n 8\n-b\n+B\n",
		},
		{"a text that looks like a range", "@@ -1,0 +\n", "x +1,0 @@\n", "@@ -1,1 +1,1 @@\n-@@ -1,0 +\n+x +1,0 @@\n"},
	} {
		if got := diffBody(unifiedDiff("f", []byte(c.before), []byte(c.after))); got != c.want {
			t.Errorf("%s:\n%q\nwant\n%q", c.name, got, c.want)
		}
	}
}
