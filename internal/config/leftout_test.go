package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/config/document"
)

const aliasBomb = "---\na: &a [x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a]\nc: [*b,*b,*b,*b,*b,*b]\n---\nhi\n"

// loadFiles loads the configuration of a home with the files, named relative to it.
func loadFiles(t *testing.T, files map[string]string) (*Config, error) {
	t.Helper()
	home := t.TempDir()
	for name, text := range files {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	getenv := func(name string) string { return map[string]string{"CAIRN_HOME": home, "HOME": home}[name] }
	dirs, err := FindDirectories(getenv)
	if err != nil {
		t.Fatal(err)
	}
	return Load(t.Context(), Options{
		Directory: filepath.Join(home, "project"), Worktree: filepath.Join(home, "project"), Dirs: dirs, Env: getenv,
	})
}

// TestInvalidMarkdownIsLeftOut: a file of an agent or command that cannot be read stops nothing else, and one warning
// names it.
func TestInvalidMarkdownIsLeftOut(t *testing.T) {
	broken := map[string]string{
		"bomb": aliasBomb, "types": "---\ndescription: d\ntemperature: [hot]\n---\nx\n",
		"rules": "---\npermission: 7\n---\nx\n", "large": strings.Repeat("x", document.MaxSize+1),
		"deep": "---\na: " + strings.Repeat("[", 200) + "\n---\nx\n",
	}
	for _, folder := range []string{"project/.cairn", "config"} {
		files := map[string]string{
			"project/x": "", folder + "/agent/good.md": "---\ndescription: d\n---\ngood\n",
			folder + "/agent/directory.md/x": "", folder + "/command/good.md": "do it\n",
		}
		for name, text := range broken {
			files[folder+"/agent/"+name+".md"] = text
			if name != "rules" && name != "types" { // fields that commands do not have
				files[folder+"/command/"+name+".md"] = text
			}
		}
		c, err := loadFiles(t, files)
		if err != nil {
			t.Errorf("%s: %v", folder, err)
			continue
		}
		if c.Agent["good"].Prompt == "" || c.Command["good"].Template == "" {
			t.Errorf("%s: the valid files are missing", folder)
		}
		for path := range files {
			name := strings.TrimSuffix(filepath.Base(path), ".md")
			if broken[name] == "" {
				continue
			}
			count := 0
			for _, w := range c.Warnings {
				if strings.HasSuffix(w.File, path) && w.Kind == WarnUnread {
					count++
				}
			}
			if count != 1 {
				t.Errorf("%s: named by %d warnings, want 1: %v", path, count, c.Warnings)
			}
		}
	}
}

// TestInvalidAgentIsRemoved: a built-in agent does not run without the rules that its invalid file would have set. The
// file of an untrusted project removes no agent.
func TestInvalidAgentIsRemoved(t *testing.T) {
	for folder, removed := range map[string]bool{"config": true, "project/.cairn": false} {
		text := "---\npermission:\n  edit: deny\ntemperature: [hot]\n---\nx\n"
		c, err := loadFiles(t, map[string]string{folder + "/agent/build.md": text, "project/x": ""})
		if err != nil {
			t.Fatal(err)
		}
		disable := c.Agent["build"].Disable
		if (disable != nil && *disable) != removed || len(c.AgentRules("build")) > 1 {
			t.Errorf("%s: the agent build is removed: %v, want %v; rules %v", folder, disable, removed, c.AgentRules("build"))
		}
	}
}
