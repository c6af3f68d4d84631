package skill_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/location/skill"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
	"github.com/cairn-dev/cairn/internal/test/fifotest"
	"github.com/cairn-dev/cairn/internal/tool"
)

// world writes files, given as name and content, and returns options for a project in repo/sub.
func world(t testing.TB, files map[string]string) skill.Options {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(top, "repo/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		full := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, isLink := strings.CutPrefix(text, "-> "); isLink {
			err = os.Symlink(strings.ReplaceAll(to, "TOP", top), full)
		} else {
			err = os.WriteFile(full, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	in := func(name string) string { return filepath.Join(top, name) }
	return skill.Options{
		Config: in("config"), Foreign: in("foreign"), Home: in("home"), Directory: in("repo/sub"), Worktree: in("repo"),
	}
}

func md(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n# " + name + "\n\nDo it.\n"
}

// short formats a result without the test's directory.
func short(o skill.Options, f skill.Set) (skills, problems []string) {
	top := filepath.Dir(o.Home) + "/"
	for _, s := range f.Skills {
		skills = append(skills, s.Name+" "+strings.TrimPrefix(s.Location, top))
	}
	for _, p := range f.Problems {
		problems = append(problems, strings.ReplaceAll(p.Path+": "+p.Message, top, ""))
	}
	return skills, problems
}

// TestRepeatedKey: a skill whose frontmatter defines a key twice is used, with one note.
func TestRepeatedKey(t *testing.T) {
	o := world(t, map[string]string{
		"home/.claude/skills/a/SKILL.md": "---\nname: a\ndescription: One.\ndescription: Two.\n---\nDo it.\n",
	})
	f := o.Find()
	_, problems := short(o, f)
	if len(f.Skills) != 1 || f.Skills[0].Description != "Two." || len(problems) != 1 ||
		!strings.HasPrefix(problems[0], "home/.claude/skills/a/SKILL.md: defines description twice") {
		t.Errorf("%+v, %v", f.Skills, problems)
	}
}

func TestSkillFolders(t *testing.T) {
	o := world(t, map[string]string{
		"home/.claude/skills/a/SKILL.md":           md("a", "A."),
		"home/.agents/skills/b/SKILL.md":           md("b", "B."),
		"foreign/skill/c/SKILL.md":                 md("c", "C."),
		"config/skills/group/d/SKILL.md":           md("d", "D."),
		"config/skills/d2":                         "-> TOP/elsewhere/d2",
		"elsewhere/d2/SKILL.md":                    md("d2", "The user's links are followed."),
		"repo/.claude/skills/e/SKILL.md":           md("e", "E."),
		"repo/.agents/skills/f/SKILL.md":           md("f", "F."),
		"repo/.opencode/skills/g/SKILL.md":         md("g", "G."),
		"repo/sub/.cairn/skill/h/SKILL.md":         md("h", "H."),
		"repo/sub/.cairn/skills/x/y/z/SKILL.md":    md("z", "Z."),
		"repo/.cairn/skills/a/SKILL.md":            md("a", "The project's wins."),
		"repo/sub/.opencode/skills/a/SKILL.md":     md("a", "The nearest wins."),
		"repo/more/i/SKILL.md":                     md("i", "I."),
		"home/more/j/SKILL.md":                     md("j", "J."),
		"repo/sub/below/.cairn/skills/no/SKILL.md": md("no", "Below the Location."),
	})
	o.Paths = []string{"../more", "~/more", "/nowhere"}
	skills, problems := short(o, o.Find())
	want := []string{
		"a repo/sub/.opencode/skills/a/SKILL.md", "b home/.agents/skills/b/SKILL.md", "c foreign/skill/c/SKILL.md",
		"d config/skills/group/d/SKILL.md", "d2 config/skills/d2/SKILL.md", "e repo/.claude/skills/e/SKILL.md",
		"f repo/.agents/skills/f/SKILL.md",
		"g repo/.opencode/skills/g/SKILL.md", "h repo/sub/.cairn/skill/h/SKILL.md", "i repo/more/i/SKILL.md",
		"j home/more/j/SKILL.md",
		"z repo/sub/.cairn/skills/x/y/z/SKILL.md",
	}
	if diff := cmp.Diff(want, skills); diff != "" {
		t.Error(diff)
	}
	want = []string{
		"home/.claude/skills/a/SKILL.md: is not used: repo/.cairn/skills/a/SKILL.md has the same name a",
		"repo/.cairn/skills/a/SKILL.md: is not used: repo/sub/.opencode/skills/a/SKILL.md has the same name a",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
	o.DisableProject, o.DisableClaude = true, true
	if skills, _ = short(o, o.Find()); slices.ContainsFunc(
		skills, func(s string) bool { return strings.Contains(s, ".claude") || strings.Contains(s, "repo/.") },
	) {
		t.Error(skills)
	}
	o.DisableExternal = true
	if skills, _ = short(o, o.Find()); slices.ContainsFunc(
		skills, func(s string) bool { return strings.Contains(s, ".agents") },
	) || len(skills) == 0 {
		t.Error(skills)
	}
	o.DisableExternal = false
	folders := o.UserFolders()
	if len(folders) != 4 || slices.ContainsFunc(folders, func(s string) bool { return strings.Contains(s, "/repo/") }) {
		t.Error(folders)
	}
}

func TestBadSkillsAreReported(t *testing.T) {
	o := world(t, map[string]string{
		"config/skills/good/SKILL.md": "---\nname: good\ndescription: >\n  Folded\n  text.\nlicense: MIT\n" +
			"allowed-tools: [bash]\nmetadata: {a: b}\n---\nBody",
		"config/skills/silent/SKILL.md":         "---\nname: silent\n---\nNo description.",
		"config/skills/lenient/SKILL.md":        "---\nname: lenient\ndescription: when: colons: are there\n---\nBody",
		"config/skills/other/SKILL.md":          md("another", "Its folder has another name."),
		"config/skills/empty/SKILL.md":          "",
		"config/skills/noname/SKILL.md":         "---\ndescription: x\n---\n",
		"config/skills/upper/SKILL.md":          md("Upper", "x"),
		"config/skills/path/SKILL.md":           md("../../etc", "x"),
		"config/skills/long/SKILL.md":           md(strings.Repeat("a", 65), "x"),
		"config/skills/yaml/SKILL.md":           "---\nname: [unclosed\n---\n",
		"config/skills/alias/SKILL.md":          "---\nname: &a alias\ndescription: *a\n---\n",
		"config/skills/bytes/SKILL.md":          "---\nname: bytes\n---\n\xff",
		"config/skills/huge/SKILL.md":           md("huge", "x") + strings.Repeat("x", 300<<10),
		"config/skills/folder/SKILL.md/x":       "",
		"config/skills/wordy/SKILL.md":          md("wordy", strings.Repeat("w", 2000)),
		"repo/.cairn/skills/out":                "-> TOP/secret",
		"repo/.cairn/skills/leak/SKILL.md":      "-> TOP/secret/SKILL.md",
		"repo/.cairn/skills/loop":               "-> .",
		"secret/SKILL.md":                       md("secret", "x"),
		"config/skills/.hidden/SKILL.md":        md("hidden", "x"),
		"config/skills/node_modules/m/SKILL.md": md("m", "x"),
	})
	f := o.Find()
	skills, problems := short(o, f)
	want := []string{
		"another config/skills/other/SKILL.md", "good config/skills/good/SKILL.md", "lenient config/skills/lenient/SKILL.md",
		"silent config/skills/silent/SKILL.md", "wordy config/skills/wordy/SKILL.md",
	}
	if diff := cmp.Diff(want, skills); diff != "" {
		t.Error(diff)
	}
	good, _ := f.Get("good")
	if good.Description != "Folded text." || good.Content != "Body" {
		t.Errorf("%+v", good)
	}
	if wordy, _ := f.Get("wordy"); len([]rune(wordy.Description)) != 1024 {
		t.Error("a long description is kept")
	}
	for _, name := range []string{
		"other", "empty", "noname", "upper", "path", "long", "yaml", "alias", "bytes", "huge", "folder", "out", "leak",
	} {
		if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, "skills/"+name) }) {
			t.Errorf("%s is not reported: %s", name, strings.Join(problems, "\n"))
		}
	}
	if strings.Contains(fmt.Sprint(f.Skills), "secret") {
		t.Error("a link out of the project was followed")
	}
}

// A pipe or a socket in place of a file does not block.
func TestSpecialFilesAreReported(t *testing.T) {
	o := world(
		t,
		map[string]string{
			"config/skills/good/SKILL.md": md("good", "x"), "config/skills/pipe/x": "", "repo/.cairn/skills/pipe/x": "",
			"repo/.cairn/skills/socket/x": "",
		},
	)
	top := filepath.Dir(o.Home)
	for _, dir := range []string{"config/skills/pipe", "repo/.cairn/skills/pipe"} {
		fifotest.Make(t, filepath.Join(top, dir, "SKILL.md"))
	}
	t.Chdir(filepath.Join(top, "repo/.cairn/skills/socket")) // the path of a socket must be short
	socket, err := net.Listen("unix", "SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	skills, problems := short(o, o.Find())
	if diff := cmp.Diff([]string{"good config/skills/good/SKILL.md"}, skills); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"config/skills/pipe/SKILL.md: is not a file", "repo/.cairn/skills/pipe/SKILL.md: is not a file",
		"repo/.cairn/skills/socket/SKILL.md: is not a file",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}
}

func load(t *testing.T, o skill.Options, name string) (tool.Settlement, []tool.Request) {
	t.Helper()
	r := tool.NewRegistry(tool.Config{})
	if _, err := r.Register(skill.NewTool(skill.NewCache(o))); err != nil {
		t.Fatal(err)
	}
	var asked []tool.Request
	return r.TakeSnapshot(nil).Settle(t.Context(), tool.Call{
		Name: "skill", Input: tool.EncodeObject(map[string]string{"name": name}),
		Ask: func(_ context.Context, r tool.Request) error { asked = append(asked, r); return nil },
	}), asked
}

func TestLoadSkill(t *testing.T) {
	files := map[string]string{
		"repo/.cairn/skills/deploy/SKILL.md": md("deploy", "How to deploy."), "repo/.cairn/skills/deploy/.secret": "x",
	}
	for i := range 12 {
		files[fmt.Sprintf("repo/.cairn/skills/deploy/scripts/%02d.sh", i)] = "x"
	}
	o := world(t, files)
	dir := filepath.Join(o.Worktree, ".cairn/skills/deploy")
	s, asked := load(t, o, "deploy")
	want := `<skill_content name="deploy">
# deploy

Do it.

Base directory: ` + dir + `
Relative paths in this skill start there.
The project is not trusted: do not run scripts of this skill.
</skill_content>`
	if s.Error != nil || s.Output.Content[0].Text != want || s.Output.Title != "Loaded skill: deploy" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff(
		[]tool.Request{{Action: "skill", Resources: []string{"deploy"}, Save: []string{"deploy"}}}, asked,
	); diff != "" {
		t.Error(diff)
	}
	o.Trusted = true
	s, _ = load(t, o, "deploy")
	if text := s.Output.Content[0].Text; strings.Count(text, "- scripts/") != 10 ||
		!strings.Contains(
			text, "(some of them)",
		) || strings.Contains(text, "not trusted") || strings.Contains(text, "secret") {
		t.Error(text)
	}
	if s, _ = load(t, o, "deplyo"); s.Error == nil || !strings.Contains(s.Error.Message, "Did you mean deploy?") {
		t.Errorf("%+v", s)
	}
}

func TestContext(t *testing.T) {
	o := world(t, map[string]string{
		"config/skills/b/SKILL.md": md("b", "Second."), "config/skills/a/SKILL.md": md("a", "First."),
		"config/skills/c/SKILL.md": md("c", "\"\""),
	})
	contextText := func(rules ...session.Rule) string {
		c := skill.Context(o.Find(), []permission.Layer{{Rules: rules}})
		if len(c) == 0 {
			return ""
		}
		g, err := systemcontext.Initialize(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return g.Baseline
	}
	deny := func(name string) session.Rule {
		return session.Rule{Action: "skill", Resource: name, Effect: session.Deny}
	}
	if got := contextText(); !strings.HasSuffix(got, "There are:\n- a: First.\n- b: Second.") {
		t.Error(got)
	}
	if got := contextText(deny("a")); !strings.HasSuffix(got, "There are:\n- b: Second.") {
		t.Error(got)
	}
	if got := contextText(deny("*")); got != "" {
		t.Error(got)
	}
}
