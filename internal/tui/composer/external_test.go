package composer

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditorCommand: the editor is a program with arguments, also in quotes. Blanks name no editor.
func TestEditorCommand(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "my editor")
	program := filepath.Join(dir, "ed.sh")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\necho \"$#: $*\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for editor, want := range map[string]string{
		`"` + program + `" --wait -n`: "3: --wait -n f.md\n",
		"echo --wait":                 "--wait f.md\n",
	} {
		env := func(name string) string { return map[string]string{"VISUAL": " ", "EDITOR": editor}[name] }
		cmd, err := EditorCommand(env, "f.md")
		if err != nil {
			t.Fatal(err)
		}
		if out, err := cmd.Output(); err != nil || string(out) != want {
			t.Errorf("%s: %q %v, want %q", editor, out, err, want)
		}
	}
	for editor, want := range map[string]string{"/none/ed -w": "/none/ed", "\t": "vi"} {
		t.Setenv("PATH", "")
		_, err := EditorCommand(func(string) string { return editor }, "f.md")
		if err == nil || !strings.Contains(err.Error(), "the editor "+want+" is not found") {
			t.Errorf("%q: %v", editor, err)
		}
	}
}
