package linediff

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// sectionName is the line that git shows behind the ranges of a hunk.
var sectionName = regexp.MustCompile(`(?m)^(@@ .* @@) .*$`)

// The form is git's own, for texts with and without a final newline, new and deleted files.
func TestFormatGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is missing")
	}
	long := strings.Repeat("a\nb\nc\nd\ne\nf\ng\nh\n", 4)
	for _, c := range []struct{ before, after string }{
		{"alpha\nbeta\ngamma\n", "changed\n"},
		{"changed\n", "alpha\nbeta\ngamma\n"},
		{long, strings.Replace(long, "c\n", "C\n", 1)},
		{long, long + "end\n"},
		{"", "new\n"},
		{"old\n", ""},
		{"x", "x\n"},
		{"x\n", "y"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"a": c.before, "b": c.after} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(git, "diff", "--no-index", "--no-color", "a", "b")
		cmd.Dir = dir
		out, _ := cmd.Output() // status 1: they differ
		_, want, _ := strings.Cut(string(out), "\n+++ b/b\n")
		want = sectionName.ReplaceAllString(want, "$1")
		got := omitSingleCounts(Compare([]byte(c.before), []byte(c.after), 3).Hunks)
		if got != want {
			t.Errorf("%q -> %q:\n got %q\nwant %q", c.before, c.after, got, want)
		}
	}
}

// Contents with zero bytes, and very large ones, have no lines; the header says what happened to the file.
func TestBinary(t *testing.T) {
	d := Compare([]byte("a\x00b"), []byte("c\x00d"), 3)
	if d != (Diff{}) {
		t.Errorf("binary contents differ in lines: %+v", d)
	}
	if d := Compare([]byte(strings.Repeat("a\n", MaxText)), []byte("b\n"), 3); d != (Diff{}) {
		t.Error("contents above the limit are compared")
	}
	a := File{strings.Repeat("a", 40), 0o100644}
	b := File{strings.Repeat("b", 40), 0o100755}
	const header = "diff --git a/f b/f\n"
	for _, c := range []struct{ got, want string }{
		{
			d.FormatGit("f", File{}, a),
			header + "new file mode 100644\nindex 0000000..aaaaaaa\nBinary files /dev/null and b/f differ\n",
		},
		{
			d.FormatGit("f", a, File{}),
			header + "deleted file mode 100644\nindex aaaaaaa..0000000\nBinary files a/f and /dev/null differ\n",
		},
		{d.FormatGit("f", a, File{a.Blob, b.Mode}), header + "old mode 100644\nnew mode 100755\n"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

// TestNames compares the names of a patch with those that git writes (core.quotePath=false).
func TestNames(t *testing.T) {
	const between = "\nnew file mode 100644\nindex 0000000..ce01362\n--- /dev/null\n+++ "
	for name, want := range map[string]string{
		"/tmp/file":  "diff --git a/tmp/file b/tmp/file" + between + "b/tmp/file\n",
		"plain":      "diff --git a/plain b/plain" + between + "b/plain\n",
		"sp ace":     "diff --git a/sp ace b/sp ace" + between + "b/sp ace\t\n",
		"nl\n\t\"\\": `diff --git "a/nl\n\t\"\\" "b/nl\n\t\"\\"` + between + `"b/nl\n\t\"\\"` + "\n",
		"\xffé":      `diff --git "a/\377é" "b/\377é"` + between + `"b/\377é"` + "\n",
		"esc\x1bé":   `diff --git "a/esc\033é" "b/esc\033é"` + between + `"b/esc\033é"` + "\n",
	} {
		after := File{"ce013625030ba8dba906f756967f9e9ca394464a", 0o100644}
		got := Compare(nil, []byte("hello\n"), 3).FormatGit(name, File{}, after)
		if head, _, _ := strings.Cut(got, "@@"); head != want {
			t.Errorf("%q: got %s, want %s", name, head, want)
		}
	}
	latin := Compare(nil, []byte("caf\xe9\n"), 3).FormatGit("l", File{}, File{"1", 0o100644})
	if !strings.Contains(latin, "Binary files") {
		t.Errorf("a text in another encoding: %q", latin)
	}
	empty := File{emptyBlob, 0o100644}
	if got := Compare(nil, nil, 3).FormatGit("e", File{}, empty); strings.Contains(got, "Binary") {
		t.Errorf("an empty file: %s", got)
	}
}
