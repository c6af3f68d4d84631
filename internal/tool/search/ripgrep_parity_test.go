package search_test

import (
	"encoding/binary"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
)

// newWildTree returns a tree with every kind of ignore rule, encoding and line end.
func newWildTree(t *testing.T) *tooltest.Bench {
	b := tooltest.New(t)
	home := b.OutsidePath("home")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", "")
	b.WriteFile(home+"/.gitconfig", "[user]\n\tname = x\n[core]\n\texcludesFile = ~/mine\n")
	b.WriteFile(home+"/mine", "*.bak\n")
	b.WriteFile(home+"/.config/git/ignore", "*.go\n") // not used, because core.excludesFile names another file
	b.WriteFile(
		".gitignore", "*.log\n!keep.log\n/build/\nnode_modules\ndocs/**/*.tmp\n\\#odd\n# comment\n trailing.txt  \n",
	)
	b.WriteFile(".ignore", "fixtures/\n!b/wanted.log\n*.rule\n")
	b.WriteFile("a/.gitignore", "/only.txt\n*.gen.*\n!b/x.gen.go\n!x.rule\n")
	b.WriteFile("a/.rgignore", "other.txt\n")
	b.WriteFile("c/.gitignore", "*\n!*.md\n!*/\n")
	for _, name := range []string{
		"x.go", "x.bak", "y.log", "keep.log", "build/out.go", "sub/build/out.go", "node_modules/m/i.js", "sub/node_modules",
		"docs/x.tmp", "docs/d/e/y.tmp",
		"docs/d/y.md", "#odd", "b/wanted.log", "b/not.log", "fixtures/f.go", "a/only.txt", "a/b/only.txt", "a/x.gen.go",
		"a/b/x.gen.go", "a/other.txt",
		"a/b/other.txt", "a/x.rule", "c/x.go", "c/x.md", "c/d/y.md", "c/d/y.txt", ".hidden/h.go", "a/.dot", "sp ace/f f.txt",
		"trailing.txt", "ünï/côde.txt",
	} {
		b.WriteFile(name, "package "+filepath.Base(name)+"\nfoo12 Bar w77x\n\nTODO: fix me\nüber straße K\nlast")
	}
	b.WriteFile("crlf.txt", "one 1\r\n\r\nfoo12\r\nend")
	b.WriteFile("bom.txt", "\uFEFFfirst foo12\n")
	b.WriteFile("bin.dat", "foo12\x00\n")
	b.WriteFile("wide.txt", encodeUTF16("first foo12\r\nüber K \U0001F600\nTODO w77x", binary.LittleEndian))
	b.WriteFile("wide-be.txt", encodeUTF16("package foo12\nlast", binary.BigEndian))
	b.WriteFile("wide-long.txt", encodeUTF16(strings.Repeat("line:—\n", 40_000)+"foo12 Bar\n", binary.LittleEndian))
	b.WriteFile("wide-bad.txt", "\xff\xfef\x00\x3d\xd8f\x00\n\x00\x00\xdcx\x00\n\x00foo12")
	b.WriteFile("wide-nul.txt", encodeUTF16("foo12\x00\n", binary.LittleEndian))
	b.WriteFile("wide-twice.txt", encodeUTF16("\uFEFFfoo12\n", binary.LittleEndian))
	b.WriteFile("mark.txt", "\xff\xfe")
	b.Symlink(b.OutsidePath("home"), "away")
	b.Symlink("a", "again")
	return b
}

// encodeUTF16 encodes a text in UTF-16 with a byte order mark.
func encodeUTF16(text string, order binary.ByteOrder) string {
	out := order.(binary.AppendByteOrder).AppendUint16(nil, 0xfeff)
	for _, u := range utf16.Encode([]rune(text)) {
		out = order.(binary.AppendByteOrder).AppendUint16(out, u)
	}
	return string(out)
}

// A search without ripgrep finds the same files and lines as ripgrep.
func TestSearchAgreesWithRipgrep(t *testing.T) {
	rg, err := exec.LookPath("rg")
	if err != nil {
		t.Skip("rg is not installed")
	}
	b := newWildTree(t)
	t.Setenv("PATH", t.TempDir()) // search without ripgrep
	run := func(dir string, args ...string) []string {
		cmd := exec.Command(
			rg, append([]string{"--no-config", "--no-require-git", "--glob=!.git", "--no-heading", "--no-messages"}, args...)...,
		)
		cmd.Dir = dir
		out, _ := cmd.Output() // exits with 1 if nothing is found
		lines := strings.Fields(strings.ReplaceAll(string(out), " ", "\u2423"))
		slices.Sort(lines)
		return lines
	}
	for _, dir := range []string{".", "a", "a/b", "c/d"} {
		for _, pattern := range []string{
			`foo12`, `(?i)todo|bar`, `^package \w`, `\bw\d+x\b`, `[A-Z][a-z]+`, `^\s*$`, `st.a.e`, `über`, `(?i)ÜBER`, `\d`,
			`nothing here`, `x?last`, `K`, `o\d+ `, `\w .a`, `(?i)r `, `e \w`, `s\b.*e$`, `\d$`, `\d+x?$`, `^first`, `^.f`,
			`\x{FFFD}x`, `\x{1F600}`, `^foo12`,
		} {
			var got []string
			path := ""
			for line := range strings.Lines(tooltest.TextOf(b.Call("grep", tooltest.Input{"pattern": pattern, "path": dir}))) {
				if number, ok := strings.CutPrefix(line, "  Line "); ok {
					number, _, _ = strings.Cut(number, ":")
					got = append(got, path+":"+number)
				} else if name, ok := strings.CutSuffix(line, ":\n"); ok {
					path, _ = filepath.Rel(b.Path(dir), name)
					path = strings.ReplaceAll(path, " ", "\u2423")
				}
			}
			slices.Sort(got)
			var want []string
			for _, hit := range run(b.Path(dir), "--hidden", "--crlf", "--line-number", "--max-columns=1", "-e", pattern) {
				parts := strings.SplitN(hit, ":", 3)
				if len(parts) == 3 {
					want = append(want, parts[0]+":"+parts[1])
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s in %s:\n%s", pattern, dir, diff)
			}
		}
		got := relativeLines(b, tooltest.TextOf(b.Call("glob", tooltest.Input{"pattern": "**/*", "path": dir})))
		for i, name := range got {
			rel, _ := filepath.Rel(dir, name)
			got[i] = strings.ReplaceAll(rel, " ", "\u2423")
		}
		slices.Sort(got)
		if diff := cmp.Diff(run(b.Path(dir), "--files"), got); diff != "" {
			t.Errorf("files in %s:\n%s", dir, diff)
		}
	}
}
