package builtin_test

import (
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/tool"
)

// readAs reads a file in a session that sees what is since a compaction.
func (b *bench) readAs(since int64, path string) string {
	s := b.callWith(b.t.Context(), tool.Call{Name: "read", Since: since}, in{"filePath": path})
	return says(s) + "\n" + string(s.Output.Structured)
}

// Reading a file tells what is written down for agents between it and the Location: each text once, the nearest first.
func TestReadTellsInstructionsNearby(t *testing.T) {
	b := newBench(t, func(c *configOf) { c.Nearby = []string{"AGENTS.md", "CLAUDE.md"} })
	b.file("AGENTS.md", "of the top")
	outer := b.file("a/AGENTS.md", "outer rule")
	b.file("a/CLAUDE.md", "not this one")
	inner := b.file("a/b/CLAUDE.md", "inner rule\n")
	b.file("a/b/f.txt", "text")
	b.file("a/g.txt", "text")
	got := b.readAs(0, "a/b/f.txt")
	mustHave(t, got, "</content>\n\n<system-reminder>\nInstructions from: "+inner+"\ninner rule\n\nInstructions from: "+outer+"\nouter rule\n</system-reminder>\n",
		`"loaded":["`+inner+`","`+outer+`"]`)
	for _, wrong := range []string{"of the top", "not this one"} {
		if strings.Contains(got, wrong) {
			t.Fatal(got)
		}
	}
	for _, again := range []string{"a/b/f.txt", "a/g.txt"} {
		if got := b.readAs(0, again); strings.Contains(got, "rule") || !strings.Contains(got, `"loaded":[]`) {
			t.Fatal("told twice:", got)
		}
	}
	b.file("a/AGENTS.md", "new rule")
	mustHave(t, b.readAs(0, "a/g.txt"), "new rule")
	mustHave(t, b.readAs(7, "a/g.txt"), "new rule")
	if got := b.readAs(7, "a/b/CLAUDE.md"); strings.Contains(got, "system-reminder") {
		t.Fatal("a file is told with itself:", got)
	}
	b.file("top.txt", "text")
	if got := b.readAs(9, "top.txt"); strings.Contains(got, "system-reminder") {
		t.Fatal(got)
	}
}

// Instructions are a project's own files: no link leads to others, and they are bounded.
func TestInstructionsNearbyAreConfined(t *testing.T) {
	b := newBench(t, func(c *configOf) { c.Nearby = []string{"AGENTS.md"} })
	b.file(b.outside("secret"), "canary")
	b.file("a/f.txt", "text")
	b.link(b.outside("secret"), "a/AGENTS.md")
	b.file("b/f.txt", "text")
	b.file("b/AGENTS.md", strings.Repeat("many words\n", 10_000))
	if got := b.readAs(0, "a/f.txt"); strings.Contains(got, "canary") {
		t.Fatal(got)
	}
	got := b.readAs(0, "b/f.txt")
	if mustHave(t, got, "(Cut here: the file is 110000 bytes long.)"); len(got) > 40<<10 {
		t.Fatal(len(got))
	}
}
