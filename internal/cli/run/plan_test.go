package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/session"
)

// TestRecordLeavesNothing: that a recording can be kept is found out without a trace.
func TestRecordLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	if err := checkRecord(dir + "/x.json"); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// TestAttachLines: a prompt attaches the lines of files below the working directory that it names, and nothing else.
func TestAttachLines(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g := runCommand{&cli.Invocation{Process: cli.Process{Dir: dir}}}
	for text, want := range map[string]string{
		"explain @a.go#2-3, please": "two\nthree\n", "@a.go#1.": "one\n", "@a.go": "", "a.go#1": "", "@b.go#1": "",
		"@" + dir + "/a.go#1": "", "@../" + filepath.Base(dir) + "/a.go#1": "", "@a.go#9": "there is no line 9",
	} {
		var p session.Prompt
		got := ""
		if err := g.attachLines(&p, strings.Fields(text)); err != nil {
			got = err.Error()
		}
		for _, f := range p.Files {
			_, data, _ := session.DataURI(f.URI)
			got += string(data)
		}
		if got != want && !(strings.HasPrefix(want, "there") && strings.Contains(got, want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
