package sources

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// The sessions of a program are found where it keeps them, where its variable says, and in paths that are named.
func TestFind(t *testing.T) {
	root := t.TempDir()
	tree := fstest.MapFS{}
	for _, name := range []string{
		"home/.claude/projects/-w/a.jsonl", "home/.claude/projects/-w/a/subagents/agent-b.jsonl",
		"home/.claude/projects/-w/notes.txt", "other/projects/-w/c.jsonl",
		"home/.codex/sessions/2026/11/28/rollout-x.jsonl", "home/.codex/sessions/2026/11/28/other.jsonl",
		"home/.gemini/tmp/w/chats/session-1.json", "home/.local/share/opencode/opencode.db",
		"home/.local/share/opencode/opencode-beta.db", "home/.local/share/opencode/storage/migration",
		"data/opencode/opencode.db", "app/.crush/crush.db",
		"mirror/opencode/opencode.db", "mirror/opencode/storage/.cairn-mirror.json",
	} {
		tree[name] = &fstest.MapFile{Data: []byte("x")}
	}
	if err := os.CopyFS(root, tree); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		program, variable string
		paths             []string
		want              string
	}{
		"claude":           {"claude", "", nil, "home/.claude/projects/-w/a.jsonl home/.claude/projects/-w/a/subagents/agent-b.jsonl"},
		"claude elsewhere": {"claude", "CLAUDE_CONFIG_DIR=other", nil, "other/projects/-w/c.jsonl"},
		"a directory":      {"claude", "", []string{"other"}, "other/projects/-w/c.jsonl"},
		"codex":            {"codex", "", nil, "home/.codex/sessions/2026/11/28/rollout-x.jsonl"},
		"gemini":           {"gemini", "", nil, "home/.gemini/tmp/w/chats/session-1.json"},
		"opencode": {
			"opencode", "", nil, "home/.local/share/opencode home/.local/share/opencode/opencode-beta.db " +
				"home/.local/share/opencode/opencode.db",
		},
		"opencode elsewhere": {"opencode", "XDG_DATA_HOME=data", nil, "data/opencode/opencode.db"},
		"a mirror of cairn":  {"opencode", "XDG_DATA_HOME=mirror", nil, "mirror/opencode/opencode.db"},
		"crush":              {"crush", "", []string{"app"}, "app/.crush/crush.db"},
		"a database":         {"crush", "", []string{"app/.crush/crush.db"}, "app/.crush/crush.db"},
	} {
		env := func(name string) string {
			if value, ok := strings.CutPrefix(c.variable, name+"="); ok {
				return filepath.Join(root, value)
			}
			return map[string]string{"HOME": filepath.Join(root, "home")}[name]
		}
		for i, p := range c.paths {
			c.paths[i] = filepath.Join(root, p)
		}
		files, err := Find(c.program, c.paths, env)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		var found []string
		for _, f := range files {
			rel, _ := filepath.Rel(root, f.Path)
			found = append(found, filepath.ToSlash(rel))
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != c.want {
			t.Errorf("%s: found %s, want %s", name, got, c.want)
		}
	}
	nowhere := func(string) string { return filepath.Join(root, "missing") }
	for _, p := range Programs() {
		if files, err := Find(p, nil, nowhere); len(files) > 0 || err != nil {
			t.Errorf("%s keeps nothing here: %v, %v", p, files, err)
		}
	}
	if _, err := Find("claude", []string{filepath.Join(root, "missing")}, os.Getenv); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing path: %v", err)
	}
	if _, err := Find("vim", nil, os.Getenv); !errors.Is(err, &session.Error{Code: session.CodeInvalid}) {
		t.Errorf("an unknown program: %v", err)
	}
	wrong := errors.New("stop")
	_, err := Read(context.Background(), File{Program: foreign.Crush, Path: filepath.Join(root, "app/.crush/crush.db")},
		func(foreign.Session) error { return wrong })
	if err == nil || errors.Is(err, wrong) {
		t.Errorf("a file that is no database: %v", err)
	}
}

// A tree that cairn writes is not imported: its sessions are cairn's own.
func TestMirrorIsNoSource(t *testing.T) {
	dir := t.TempDir()
	tree := fstest.MapFS{"storage/.cairn-mirror.json": &fstest.MapFile{Data: []byte("{}")}}
	if err := os.CopyFS(dir, tree); err != nil {
		t.Fatal(err)
	}
	files, err := Find(foreign.OpenCode, []string{dir}, func(string) string { return "" })
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	_, err = Read(t.Context(), files[0], func(foreign.Session) error { return errors.New("a session") })
	if err == nil || !strings.Contains(err.Error(), "a mirror that cairn writes") {
		t.Error(err)
	}
}
