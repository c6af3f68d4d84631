package file_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/test/tooltest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// readSince reads a file in a session that was compacted at since.
func readSince(b *tooltest.Bench, since int64, path string) string {
	s := b.CallWith(b.T.Context(), tool.Call{Name: "read", Since: since}, tooltest.Input{"filePath": path})
	return tooltest.TextOf(s) + "\n" + string(s.Output.Structured)
}

// A read reports the instruction files between the file and the Location for OpenCode's clients, each text once,
// nearest first. They are not in the text for the model.
func TestReadReportsNearbyInstructions(t *testing.T) {
	b := tooltest.New(t, func(c *tooltest.Config) { c.File.InstructionFiles = []string{"AGENTS.md", "CLAUDE.md"} })
	b.WriteFile("AGENTS.md", "of the top")
	outer := b.WriteFile("a/AGENTS.md", "outer rule")
	b.WriteFile("a/CLAUDE.md", "not this one")
	inner := b.WriteFile("a/b/CLAUDE.md", "inner rule\n")
	b.WriteFile("a/b/f.txt", "text")
	b.WriteFile("a/g.txt", "text")
	got := readSince(b, 0, "a/b/f.txt")
	reminder := `"\n\n<system-reminder>\nInstructions from: ` + inner + `\ninner rule\n\nInstructions from: ` + outer +
		`\nouter rule\n</system-reminder>"`
	tooltest.MustContain(t, got, `"reminder":`+reminder, `"loaded":["`+inner+`","`+outer+`"]`)
	for _, wrong := range []string{"of the top", "not this one", "</content>\n\n<system"} {
		if strings.Contains(got, wrong) {
			t.Fatal(got)
		}
	}
	for _, again := range []string{"a/b/f.txt", "a/g.txt"} {
		if got := readSince(b, 0, again); strings.Contains(got, "rule") || !strings.Contains(got, `"loaded":[]`) {
			t.Fatal("instructions shown twice:", got)
		}
	}
	b.WriteFile("a/AGENTS.md", "new rule")
	tooltest.MustContain(t, readSince(b, 0, "a/g.txt"), "new rule")
	tooltest.MustContain(t, readSince(b, 7, "a/g.txt"), "new rule")
	if got := readSince(b, 7, "a/b/CLAUDE.md"); strings.Contains(got, "system-reminder") {
		t.Fatal("a file is among its own instructions:", got)
	}
	b.WriteFile("top.txt", "text")
	if got := readSince(b, 9, "top.txt"); strings.Contains(got, "system-reminder") {
		t.Fatal(got)
	}
}

// Instruction files are not read through links out of the project, and their size is bounded.
func TestInstructionsNearbyAreConfined(t *testing.T) {
	b := tooltest.New(t, func(c *tooltest.Config) { c.File.InstructionFiles = []string{"AGENTS.md"} })
	b.WriteFile(b.OutsidePath("secret"), "canary")
	b.WriteFile("a/f.txt", "text")
	b.Symlink(b.OutsidePath("secret"), "a/AGENTS.md")
	b.WriteFile("b/f.txt", "text")
	b.WriteFile("b/AGENTS.md", strings.Repeat("many words\n", 10_000))
	if got := readSince(b, 0, "a/f.txt"); strings.Contains(got, "canary") {
		t.Fatal(got)
	}
	got := readSince(b, 0, "b/f.txt")
	if tooltest.MustContain(t, got, "(Cut here: the file is 110000 bytes long.)"); len(got) > 40<<10 {
		t.Fatal(len(got))
	}
}
