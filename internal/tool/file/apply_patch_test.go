package file_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// patchInput is the input of apply_patch with the lines of a patch.
func patchInput(lines ...string) tooltest.Input {
	return tooltest.Input{"patchText": "*** Begin Patch\n" + strings.Join(lines, "\n") + "\n*** End Patch"}
}

// listFiles returns the regular files below the working directory with their contents.
func listFiles(b *tooltest.Bench) map[string]string {
	b.T.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(b.Dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			rel, _ := filepath.Rel(b.Dir, path)
			all[filepath.ToSlash(rel)] = b.ReadFile(path)
		}
		return err
	})
	if err != nil {
		b.T.Fatal(err)
	}
	return all
}

type tree map[string]string

func TestApplyPatch(t *testing.T) {
	for _, c := range []struct {
		name   string
		before tree
		patch  tooltest.Input
		after  tree   // nil: unchanged
		says   string // part of the result, or of the error
	}{
		{
			"add",
			tree{},
			patchInput("*** Add File: a/b.txt", "+one", "+two"),
			tree{"a/b.txt": "one\ntwo\n"},
			"Success. Updated the following files:\nA a/b.txt",
		},
		{"add an empty file", tree{}, patchInput("*** Add File: e"), tree{"e": ""}, "A e"},
		{
			"add with a blank line in between",
			tree{},
			patchInput("*** Add File: e", "+a", "", "+b", ""),
			tree{"e": "a\n\nb\n"},
			"A e",
		},
		{"add over a file", tree{"a": "old\n"}, patchInput("*** Add File: a", "+new"), tree{"a": "new\n"}, "M a"},
		{
			"update",
			tree{"a": "1\n2\n3\n"},
			patchInput("*** Update File: a", "@@", " 1", "-2", "+two", " 3"),
			tree{"a": "1\ntwo\n3\n"},
			"M a",
		},
		{
			"several places",
			tree{"a": "1\n2\n3\n4\n5\n"},
			patchInput("*** Update File: a", "@@", "-1", "+one", "@@", " 4", "-5", "+five"),
			tree{"a": "one\n2\n3\n4\nfive\n"},
			"M a",
		},
		{
			"without the first @@",
			tree{"a": "1\n2\n"},
			patchInput("*** Update File: a", " 1", "-2", "+two"),
			tree{"a": "1\ntwo\n"},
			"M a",
		},
		{
			"a line above tells which",
			tree{"a": "f\n x\ng\n x\n"},
			patchInput("*** Update File: a", "@@ g", "- x", "+ y"),
			tree{"a": "f\n x\ng\n y\n"},
			"M a",
		},
		{
			"two lines above",
			tree{"a": "c\nf\n x\nd\nf\n x\n"},
			patchInput("*** Update File: a", "@@ d", "@@ f", "- x", "+ y"),
			tree{"a": "c\nf\n x\nd\nf\n y\n"},
			"M a",
		},
		{
			"ranges as in other patches",
			tree{"a": "1\n2\n"},
			patchInput("*** Update File: a", "@@ -1,2 +1,2 @@ head", " 1", "-2", "+two"),
			tree{"a": "1\ntwo\n"},
			"M a",
		},
		{
			"end of file",
			tree{"a": "x\ny\nx\ny\n"},
			patchInput("*** Update File: a", "@@", " x", "-y", "+z", "*** End of File"),
			tree{"a": "x\ny\nx\nz\n"},
			"M a",
		},
		{
			"end of file that is not there is sought above",
			tree{"a": "x\ny\nz\n"},
			patchInput("*** Update File: a", "@@", "-x", "+w", "*** End of File"),
			tree{"a": "w\ny\nz\n"},
			"M a",
		},
		{
			"only additions go to the end",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "@@", "+2", "+3"),
			tree{"a": "1\n2\n3\n"},
			"M a",
		},
		{
			"the last line gets its end",
			tree{"a": "1\n2"},
			patchInput("*** Update File: a", "@@", "-1", "+one"),
			tree{"a": "one\n2\n"},
			"M a",
		},
		{
			"a blank line too many",
			tree{"a": "1\n2\n"},
			patchInput("*** Update File: a", "@@", " 1", "-2", "+two", " ", "*** End of File"),
			tree{"a": "1\ntwo\n"},
			"M a",
		},
		{
			"white space behind",
			tree{"a": "1  \n2\n"},
			patchInput("*** Update File: a", "@@", " 1", "-2", "+two"),
			tree{"a": "1  \ntwo\n"},
			"M a",
		},
		{
			"white space around, what stays is kept",
			tree{"a": "\t1\n2\n"},
			patchInput("*** Update File: a", "@@", " 1", "-2", "+two"),
			tree{"a": "\t1\ntwo\n"},
			"M a",
		},
		{
			"punctuation",
			tree{"a": "it’s – “so”\n"},
			patchInput("*** Update File: a", "@@", "-it's - \"so\"", "+plain"),
			tree{"a": "plain\n"},
			"M a",
		},
		{
			"line ends",
			tree{"a": "1\r\n2\r\n3\r\n"},
			patchInput("*** Update File: a", "@@", " 1", "-2", "+two", "+more"),
			tree{"a": "1\r\ntwo\r\nmore\r\n3\r\n"},
			"M a",
		},
		{
			"dots",
			tree{"a": "wait\u2026\n"},
			patchInput("*** Update File: a", "@@", "-wait...", "+go"),
			tree{"a": "go\n"},
			"M a",
		},
		{
			"byte order mark",
			tree{"a": "\uFEFF1\n2\n"},
			patchInput("*** Update File: a", "@@", "-1", "+one"),
			tree{"a": "\uFEFFone\n2\n"},
			"M a",
		},
		{"delete", tree{"a": "1\n", "b": "2\n"}, patchInput("*** Delete File: a"), tree{"b": "2\n"}, "D a"},
		{"move", tree{"a": "1\n2"}, patchInput("*** Update File: a", "*** Move to: d/b"), tree{"d/b": "1\n2"}, "M d/b"},
		{
			"move and update",
			tree{"a": "1\n2\n"},
			patchInput("*** Update File: a", "*** Move to: b", "@@", "-1", "+one"),
			tree{"b": "one\n2\n"},
			"M b",
		},
		{
			"move over a file",
			tree{"a": "1\n", "b": "2\n"},
			patchInput("*** Update File: a", "*** Move to: b"),
			tree{"b": "1\n"},
			"M b",
		},
		{
			"move to itself",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "*** Move to: ./a", "@@", "-1", "+2"),
			tree{"a": "2\n"},
			"M a",
		},
		{
			"one after the other",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "@@", "-1", "+2", "*** Update File: a", "@@", "-2", "+3"),
			tree{"a": "3\n"},
			"M a\nM a",
		},
		{"added and deleted", tree{}, patchInput("*** Add File: a", "+1", "*** Delete File: a"), tree{}, "A a\nD a"},
		{
			"deleted and added",
			tree{"a": "1\n"},
			patchInput("*** Delete File: a", "*** Add File: a", "+2"),
			tree{"a": "2\n"},
			"D a\nA a",
		},
		{
			"here document",
			tree{},
			tooltest.Input{"patchText": "cat <<'EOF'\n*** Begin Patch\n*** Add File: a\n+1\n*** End Patch\nEOF\n"},
			tree{"a": "1\n"},
			"A a",
		},
		{
			"here document alone",
			tree{},
			tooltest.Input{"patchText": "<<EOF\n*** Begin Patch\n*** Add File: a\n+1\n*** End Patch\nEOF"},
			tree{"a": "1\n"},
			"A a",
		},
		{
			"line ends of the patch",
			tree{"a": "1\n"},
			tooltest.Input{"patchText": "*** Begin Patch\r\n*** Update File: a\r\n@@\r\n-1\r\n+2\r\n*** End Patch\r\n"},
			tree{"a": "2\n"},
			"M a",
		},
		{
			"markers as content",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "@@", "-1", "+*** End Patch", "+*** Add File: b"),
			tree{"a": "*** End Patch\n*** Add File: b\n"},
			"M a",
		},

		{"empty", tree{"a": "1\n"}, patchInput(), nil, "The patch is empty"},
		{"no text", tree{}, tooltest.Input{"patchText": " \n "}, nil, "patchText is empty"},
		{
			"no markers",
			tree{"a": "1\n"},
			tooltest.Input{"patchText": "--- a\n+++ a\n@@\n-1\n+2\n"},
			nil,
			`no line "*** Begin Patch"`,
		},
		{
			"cut off",
			tree{"a": "1\n"},
			tooltest.Input{"patchText": "*** Begin Patch\n*** Update File: a\n@@\n-1\n"},
			nil,
			`no line "*** End Patch"`,
		},
		{
			"two patches",
			tree{},
			tooltest.Input{
				"patchText": "*** Begin Patch\n*** Add File: a\n+1\n*** End Patch\n*** Begin Patch\n*** Add File: b\n+1\n" +
					"*** End Patch\n",
			},
			nil, "several patches",
		},
		{
			"unknown section",
			tree{},
			patchInput("*** Rename File: a"), nil,
			`Line 2 of the patch: "*** Rename File: a" is not`,
		},
		{"no name", tree{}, patchInput("*** Add File:", "+1"), nil, "names no file"},
		{"nothing to change", tree{"a": "1\n"}, patchInput("*** Update File: a"), nil, "says nothing to change"},
		{
			"bad line",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "@@", "-1", "what"), nil,
			"Line 5 of the patch: a line of an update begins with",
		},
		{
			"bad added line",
			tree{},
			patchInput("*** Add File: a", "+1", "2"), nil,
			"Line 4 of the patch: every line of an added file begins with +",
		},
		{"changes nothing", tree{"a": "1\n"}, patchInput("*** Update File: a", "@@", "-1", "+1"), nil, "changes nothing in"},
		{"missing", tree{}, patchInput("*** Update File: a", "@@", "-1", "+2"), nil, "File not found: "},
		{"delete what is missing", tree{}, patchInput("*** Delete File: a"), nil, "File not found: "},
		{"delete a directory", tree{"d/a": "1\n"}, patchInput("*** Delete File: d"), nil, "is a directory"},
		{
			"file and directory",
			tree{},
			patchInput("*** Add File: d", "+1", "*** Add File: d/a", "+1"), nil,
			"for a file and for a directory",
		},
		{"binary", tree{"a": "1\x00\n"}, patchInput("*** Update File: a", "@@", "-1", "+2"), nil, "binary file"},
		{
			"no such lines",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "@@", " 1", "-9", "+2"), nil,
			"These lines are not in",
		},
		{
			"no such line above",
			tree{"a": "1\n"},
			patchInput("*** Update File: a", "@@ nope", "-1", "+2"), nil,
			`There is no line "nope"`,
		},
		{
			"wrong order",
			tree{"a": "1\n2\n3\n"},
			patchInput("*** Update File: a", "@@", "-3", "+c", "@@", "-1", "+a"), nil,
			"behind the place before",
		},
		{
			"one bad section spoils all",
			tree{"a": "1\n", "b": "1\n", "c": "1\n"},
			patchInput(
				"*** Update File: a", "@@", "-1", "+2", "*** Add File: new/x", "+1", "*** Delete File: c", "*** Update File: b",
				"@@", "-7", "+8",
			),
			nil, "no file was changed: These lines are not in",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := tooltest.New(t)
			for name, content := range c.before {
				b.WriteFile(name, content)
			}
			s := b.Call("apply_patch", c.patch)
			want := c.after
			if want == nil {
				want = c.before
			}
			if (s.Error != nil) != (c.after == nil) {
				t.Fatal(tooltest.TextOf(s))
			}
			tooltest.MustContain(t, tooltest.TextOf(s), c.says)
			if diff := cmp.Diff(map[string]string(want), listFiles(b)); diff != "" {
				t.Fatalf("%s\n%s", tooltest.TextOf(s), diff)
			}
			if entries, err := os.ReadDir(b.Path("new")); err == nil {
				t.Fatalf("a directory was left: %v", entries)
			}
		})
	}
}

func TestApplyPatchAsksOnceWithTheDiff(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile("a", "1\n")
	b.WriteFile("old", "x\n")
	other := b.WriteFile(b.OutsidePath("o/f"), "o\n")
	b.WriteFile(b.OutsidePath("o/g"), "o\n")
	patch := patchInput(
		"*** Update File: a", "@@", "-1", "+2", "*** Update File: old", "*** Move to: new", "*** Update File: "+other, "@@",
		"-o", "+p", "*** Delete File: "+b.OutsidePath("o/g"),
	)
	if s := b.Call("apply_patch", patch); s.Denial == nil || b.ReadFile("a") != "1\n" {
		t.Fatal(tooltest.TextOf(s)) // a path outside asks, and the bench denies
	}
	b.TakeRequests()
	b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
	var meta []byte
	b.OnAsk = func(r tool.Request) {
		if meta = r.Metadata; b.ReadFile("a") != "1\n" || b.ReadFile("old") != "x\n" {
			t.Error("changed before it was allowed")
		}
	}
	s := b.Call("apply_patch", patch)
	out := filepath.Dir(other)
	if diff := cmp.Diff(
		[]string{"external_directory " + out + "/*", "edit a,old,new," + other + "," + b.OutsidePath("o/g")},
		b.TakeRequests(),
	); diff != "" || s.Error != nil {
		t.Fatal(tooltest.TextOf(s), diff)
	}
	tooltest.MustContain(
		t, string(meta), `-1\n+2\n`, `-o\n+p\n`, `"type":"move"`, `"movePath":"`+b.Path("new"), `"type":"delete"`,
		`"filepath":"a, new, `,
	)
	tooltest.MustContain(t, string(s.Output.Structured), `"relativePath":"a"`, `"additions":1`, `"diagnostics":{}`)
	if _, err := os.Stat(b.Path("old")); err == nil || b.ReadFile("new") != "x\n" || b.ReadFile(other) != "p\n" {
		t.Fatal(listFiles(b))
	}
}

func TestApplyPatchKeepsModesAndLinks(t *testing.T) {
	b := tooltest.New(t)
	if err := os.Chmod(b.WriteFile("run.sh", "1\n"), 0o751); err != nil {
		t.Fatal(err)
	}
	b.Call("apply_patch", patchInput("*** Update File: run.sh", "*** Move to: go.sh", "@@", "-1", "+2"))
	if info, err := os.Stat(b.Path("go.sh")); err != nil || info.Mode().Perm() != 0o751 {
		t.Fatal(info, err)
	}
	b.Symlink("go.sh", "link")
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("apply_patch", patchInput("*** Delete File: link"))), "is a symbolic link",
	)
	tooltest.MustContain(
		t, tooltest.TextOf(b.Call("apply_patch", patchInput("*** Update File: link", "*** Move to: x"))),
		"is a symbolic link",
	)
	s := b.Call("apply_patch", patchInput("*** Update File: link", "@@", "-2", "+3"))
	if info, err := os.Lstat(b.Path("link")); err != nil || info.Mode()&fs.ModeSymlink == 0 ||
		b.ReadFile("go.sh") != "3\n" {
		t.Fatal(tooltest.TextOf(s), err)
	}
}

// If a file changes while the permission request is open, no file is changed.
func TestApplyPatchChangedMeanwhile(t *testing.T) {
	b := tooltest.New(t)
	b.WriteFile("a", "1\n")
	b.WriteFile("b", "1\n")
	b.OnAsk = func(tool.Request) { b.WriteFile("b", "1\nnew\n1\n") }
	s := b.Call("apply_patch", patchInput("*** Update File: a", "@@", "-1", "+2", "*** Delete File: b"))
	tooltest.MustContain(t, tooltest.TextOf(s), "was changed while permission was asked for")
	if diff := cmp.Diff(map[string]string{"a": "1\n", "b": "1\nnew\n1\n"}, listFiles(b)); diff != "" {
		t.Fatal(diff)
	}
}

// Every tool refuses to change a file that changed since the session read it, and shows what changed.
func TestStaleFilesAreRefusedWithWhatChanged(t *testing.T) {
	for name, input := range map[string]tooltest.Input{
		"write":       {"filePath": "f", "content": "mine\n"},
		"edit":        {"filePath": "f", "oldString": "one", "newString": "mine"},
		"apply_patch": patchInput("*** Add File: g", "+g", "*** Update File: f", "@@", "-one", "+mine"),
	} {
		t.Run(name, func(t *testing.T) {
			b := tooltest.New(t)
			b.WriteFile("f", "one\ntwo\n")
			b.Call("read", tooltest.Input{"filePath": "f"})
			b.WriteFile("f", "one\nsecret of others\n")
			b.TakeRequests()
			got := tooltest.TextOf(b.Call(name, input))
			tooltest.MustContain(t, got, "since you last read it", "What changed:", "-two\n+secret of others\n")
			if diff := cmp.Diff(map[string]string{"f": "one\nsecret of others\n"}, listFiles(b)); diff != "" {
				t.Fatal(diff)
			}
			if diff := cmp.Diff([]string{"read f"}, b.TakeRequests()); diff != "" {
				t.Fatal(diff)
			}
			b.Rules = append(
				tooltest.AllowAll[:len(tooltest.AllowAll):len(tooltest.AllowAll)],
				session.Rule{Action: "read", Resource: "f", Effect: session.Deny},
			)
			got = tooltest.TextOf(b.Call(name, input))
			if tooltest.MustContain(t, got, "since you last read it"); strings.Contains(got, "secret") {
				t.Fatal("shown although it may not be read:", got)
			}
			b.Rules = tooltest.AllowAll
			b.Call("read", tooltest.Input{"filePath": "f"})
			if s := b.Call(name, input); s.Error != nil {
				t.Fatal(tooltest.TextOf(s))
			}
		})
	}
}

// A file with a hard link may be outside as well: it asks as external_directory, and both names keep one content.
func TestHardLinks(t *testing.T) {
	for name, input := range map[string]tooltest.Input{
		"write":       {"filePath": "f", "content": "mine\n"},
		"edit":        {"filePath": "f", "oldString": "one", "newString": "mine"},
		"apply_patch": patchInput("*** Update File: f", "@@", "-one", "+mine"),
	} {
		t.Run(name, func(t *testing.T) {
			b := tooltest.New(t)
			other := b.WriteFile(b.OutsidePath("victim"), "one\n")
			if err := os.Link(other, b.Path("f")); err != nil {
				t.Skip(err)
			}
			if s := b.Call(name, input); s.Denial == nil || b.ReadFile("f") != "one\n" {
				t.Fatal(tooltest.TextOf(s))
			}
			if diff := cmp.Diff([]string{"external_directory " + b.Path("f")}, b.TakeRequests()); diff != "" {
				t.Fatal(diff)
			}
			b.Rules = []session.Rule{{Action: "*", Resource: "*", Effect: session.Allow}}
			s := b.Call(name, input)
			tooltest.MustContain(t, tooltest.TextOf(s), "1 more name (hard links)")
			if b.ReadFile("f") != "mine\n" || b.ReadFile(other) != "mine\n" {
				t.Fatal(tooltest.TextOf(s))
			}
		})
	}
}
