package root_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
)

// TestRunShowsLife: on a terminal that can move its cursor, run shows the output of a command as it comes, and takes
// it away at the end; a terminal that cannot has a line when the call begins. The diff of a change and Markdown are
// rendered on the first one; the second one has the text as it is.
func TestRunShowsLife(t *testing.T) {
	if testing.Short() {
		t.Skip("runs processes")
	}
	dir := t.TempDir()
	script := filepath.Join(dir, "script.json")
	text := `{"turns": [{"steps": [{"call": {"id": "c", "name": "bash", "arguments": {"command": "echo tail; sleep 2"}}}]},
		{"steps": [{"call": {"id": "w", "name": "write", "arguments": {"filePath": "a.txt", "content": "one\n"}}}]},
		{"steps": [{"text": "Done **now**.\n- see ` + "`a.txt`" + `"}]}]}`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CAIRN_SCRIPT", script)
	t.Setenv("CAIRN_DISABLE_KEYRING", "1")
	t.Setenv("NO_COLOR", "1")
	for _, columns := range []string{"", "80"} {
		t.Setenv("COLUMNS", columns)
		home, err := os.MkdirTemp("", "cairn") // short, for the socket
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(home)
		_ = os.Remove(filepath.Join(dir, "a.txt")) // of the run before
		screen, code := onTerminal(t, home, dir, nil, "run", "--ask=allow", "go")
		if code != 0 || !strings.Contains(screen, "✓ bash echo tail") {
			t.Errorf("exit %d:\n%q", code, screen)
		}
		live := columns != ""
		if strings.Contains(screen, "    tail\x1b") != live || strings.Contains(screen, "→ bash") == live {
			t.Errorf("columns %q:\n%q", columns, screen)
		}
		text := ansi.Strip(screen)
		if !strings.Contains(text, "✓ write a.txt +1 -0") || strings.Contains(text, "    1 + one") != live ||
			strings.Contains(text, "• see a.txt\n") != live || strings.Contains(text, "Done **now**.\n") == live {
			t.Errorf("columns %q: the diff and the Markdown:\n%q", columns, screen)
		}
	}
}
