package skill

import (
	"context"
	_ "embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/tool"
)

//go:embed skill.md
var description string

const schema = `{"type":"object","properties":{
"name":{"type":"string","minLength":1,"description":"The name of the skill"}
},"required":["name"],"additionalProperties":false}`

// maxSampled bounds the files of a skill that are named.
const maxSampled = 10

type loader struct{ skills *Cache }

// NewTool returns the tool that loads a skill. It searches in each call.
func NewTool(skills *Cache) tool.Tool { return &loader{skills} }

// Definition describes the tool.
func (l *loader) Definition() tool.Definition {
	return tool.Definition{
		Name: "skill", Description: strings.TrimSpace(description), Schema: jsontext.Value(schema), Action: action,
		Bounded: true,
	}
}

// Run loads the skill.
func (l *loader) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	in, err := tool.Input[struct {
		Name string `json:"name"`
	}](call)
	if err != nil {
		return tool.Output{}, err
	}
	ask := tool.Request{Action: action, Resources: []string{in.Name}, Save: []string{permission.Escape(in.Name)}}
	if err := call.Ask(ctx, ask); err != nil {
		return tool.Output{}, err
	}
	found := l.skills.Find()
	s, ok := found.Get(in.Name)
	if !ok {
		return tool.Output{}, failUnknown(in.Name, found.Names())
	}
	text := ""
	if s.address != "" {
		text = s.formatRemote(l.skills.options.downloadFiles(ctx, &s))
	} else {
		text = s.formatContent()
	}
	return tool.TextOutput("Loaded skill: "+s.Name, text, map[string]any{"name": s.Name, "dir": s.Dir()}), nil
}

func failUnknown(name string, names []string) error {
	text := fmt.Sprintf("Skill %.80q not found.", name)
	if near := spelling.FindNearest(name, names, 3); len(near) > 0 {
		return tool.Failf("%s Did you mean %s?", text, strings.Join(near, " or "))
	}
	if len(names) == 0 {
		return tool.Failf("%s No skills are installed.", text)
	}
	return tool.Failf("%s The skills are %s.", text, strings.Join(names, ", "))
}

// formatContent returns the skill as the model gets it.
func (s *Skill) formatContent() string {
	var b strings.Builder
	fmt.Fprintf(
		&b, "<skill_content name=%q>\n%s\n\nBase directory: %s\nRelative paths in this skill start there.\n", s.Name,
		s.Content, s.Dir(),
	)
	if s.untrusted {
		b.WriteString("The project is not trusted: do not run scripts of this skill.\n")
	} else if files, more := s.sampleFiles(); len(files) > 0 {
		b.WriteString("Files that come with it")
		if more {
			b.WriteString(" (some of them)")
		}
		b.WriteString(":\n- " + strings.Join(files, "\n- ") + "\n")
	}
	b.WriteString("</skill_content>")
	return b.String()
}

// formatRemote returns the skill of a page, with what downloadFiles returned.
func (s *Skill) formatRemote(names, problems []string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<skill_content name=%q>\n%s\n\nThis skill is the page %s.\n", s.Name, s.Content, s.Location)
	if len(names) > 0 {
		fmt.Fprintf(
			&b, "Base directory: %s\nRelative paths in this skill start there.\nFiles that were downloaded with it; ask "+
				"the user before you run one:\n- %s\n", s.Dir(), strings.Join(names, "\n- "),
		)
	}
	if len(problems) > 0 {
		b.WriteString("Files that are missing:\n- " + strings.Join(problems, "\n- ") + "\n")
	}
	b.WriteString("</skill_content>")
	return b.String()
}

// sampleFiles names some of the files beside the SKILL.md, and reports whether there are more.
func (s *Skill) sampleFiles() (names []string, more bool) {
	files := os.DirFS(s.Dir())
	seen := 0
	_ = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error { // unreadable files are not named
		seen++
		switch {
		case err != nil, strings.HasPrefix(path.Base(name), ".") && name != ".", path.Base(name) == "node_modules":
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
			return nil
		case seen > maxFolders || len(names) == maxSampled && !e.IsDir():
			more = true
			return fs.SkipAll
		case e.Type().IsRegular() && name != file:
			names = append(names, filepath.FromSlash(name))
		}
		return nil
	})
	return names, more
}
