package config

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestMatcher(t *testing.T) {
	for _, c := range []struct {
		matcher HookMatcher
		names   []string
		want    bool
	}{
		{"", []string{"bash", "Bash"}, true},
		{"*", []string{"bash", "Bash"}, true},
		{"Bash", []string{"bash", "Bash"}, true},
		{"bash", []string{"bash", "Bash"}, true},
		{"Edit|Write", []string{"write", "Write"}, true},
		{"Edit", []string{"multiedit", "MultiEdit"}, false},
		{"mcp__.*__get", []string{"files_get", "mcp__files__get"}, true},
		{"^Notebook", []string{"edit", "Edit"}, false},
		{"(", []string{"edit", "Edit"}, false},
	} {
		if got := c.matcher.Matches(c.names...); got != c.want {
			t.Errorf("%q matches %v: %v", c.matcher, c.names, got)
		}
	}
}

// loadHooks loads a user's and a project's file.
func loadHooks(t *testing.T, user, project string) *Config {
	t.Helper()
	top := t.TempDir()
	dirs := Directories{Config: filepath.Join(top, "config"), Home: filepath.Join(top, "home")}
	repo := filepath.Join(top, "repo")
	for path, text := range map[string]string{
		filepath.Join(dirs.Config, "cairn.json"): user, filepath.Join(repo, "cairn.json"): project,
		filepath.Join(repo, ".cairn", "hooks", "check.sh"): "exit 0", filepath.Join(repo, "named.sh"): "exit 0",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, err := Load(t.Context(), Options{Directory: repo, Worktree: repo, Dirs: dirs})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestMalformedHooks: malformed hooks are left out with their place, and the others stay.
func TestMalformedHooks(t *testing.T) {
	c := loadHooks(t, `{"hooks": {
  "PreTolUse": [],
  "PreToolUse": [
    {"matcher": "(", "hooks": [{"type": "command", "command": "a"}]},
    {"matcher": "Bash", "hooks": [
      {"type": "prompt", "prompt": "is it safe?"},
      {"type": "command"},
      {"type": "command", "command": "b", "timeout": -1},
      {"type": "command", "command": "c", "timeout": 2.5, "allow": true}]}],
  "Stop": {"type": "command"},
  "UserPromptSubmit": [{"hooks": [{"type": "command", "command": "d"}]}]
}}`, `{}`)
	var got, warnings []string
	for _, h := range c.ListHooks() {
		got = append(got, h.ID+" "+string(h.Matcher)+" "+h.Command+" "+h.Timeout.Duration().String())
	}
	want := []string{
		"hook/PreToolUse/1 Bash b 0s", "hook/PreToolUse/2 Bash c 2.5s",
		"hook/UserPromptSubmit/1  d 0s",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, w := range c.Warnings {
		w.File = filepath.Base(w.File)
		warnings = append(warnings, w.String())
	}
	want = []string{
		"check.sh: is not run: plugins and tools are scripts (.ts, .js), and hooks run if the key hooks names them",
		"cairn.json:2:3: hooks.PreTolUse is not a configuration key; did you mean PreToolUse?",
		`cairn.json:4:5: hooks.PreToolUse.0 is left out: want a "matcher" of names such as Edit|Write, or a regular ` +
			"expression of Go, got an object",
		`cairn.json:6:7: hooks.PreToolUse.0.hooks.0 is left out: want an object with "type": "command" and a "command", ` +
			"got an object",
		`cairn.json:7:7: hooks.PreToolUse.0.hooks.0 is left out: want an object with "type": "command" and a "command", ` +
			"got an object",
		"cairn.json:8:54: hooks.PreToolUse.0.hooks.0.timeout is left out: want a number of seconds, at most 3600, got -1",
		"cairn.json:10:11: hooks.Stop is left out: want a list in square brackets, got an object",
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
}

// TestProjectHooks: the hooks of a project need trust and then follow those of the user; the files that they name are
// part of what is trusted.
func TestProjectHooks(t *testing.T) {
	c := loadHooks(t,
		`{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}`,
		`{"hooks": {"Stop": [{"hooks": [
  {"type": "command", "command": "\"$CLAUDE_PROJECT_DIR\"/.cairn/hooks/check.sh", "allow": true},
  {"type": "command", "command": "sh named.sh"}]}]}}`)
	type row struct {
		Command          string
		Active, MayAllow bool
	}
	var got []row
	for _, h := range c.ListHooks() {
		got = append(got, row{h.Command, h.Active, h.MayAllow})
	}
	want := []row{
		{"mine", true, false}, {`"$CLAUDE_PROJECT_DIR"/.cairn/hooks/check.sh`, false, false}, {"sh named.sh", false, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	var files []string
	for _, f := range c.Claim.Files {
		files = append(files, f.Path)
	}
	if diff := cmp.Diff([]string{".cairn/hooks/check.sh", "cairn.json", "named.sh"}, files); diff != "" {
		t.Error(diff)
	}
	if len(c.Unrun) > 0 {
		t.Errorf("hooks that the configuration names are not run: %v", c.Unrun)
	}
}
