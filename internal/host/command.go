package host

import (
	"cmp"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/command"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
	"github.com/cairn-dev/cairn/internal/tool/file"
)

// commands are those of a place, with its skills as they are now.
func (l *locations) commands(p *place) *command.Set {
	var skills []command.Skill
	for _, s := range p.skills.Find().Skills {
		skills = append(skills, command.Skill{Name: s.Name, Description: s.Description, Content: s.Content, Directory: s.Dir()})
	}
	return command.New(p.config, skills)
}

// Commands implements v2.Locations.
func (l *locations) Commands(ctx context.Context, at session.Location) ([]api.Command, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	out := []api.Command{}
	for _, c := range l.commands(p).List() {
		out = append(out, api.Command{
			Name: c.Name, Description: c.Description, Agent: c.Agent, Model: c.Model, Subtask: c.Subtask, Template: c.Template,
			Source: string(c.Source), Hints: c.Hints(),
		})
	}
	return out, nil
}

// Expand implements v2.Locations: it makes the prompt of a command, running what its template wants to have run.
func (l *locations) Expand(ctx context.Context, at session.Location, r api.ExpandRequest) (api.Expanded, error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return api.Expanded{}, err
	}
	c, err := l.commands(p).Get(r.Command)
	if why := p.config.UntrustedCommandReason(strings.TrimPrefix(r.Command, "/")); err != nil && why != "" {
		err = session.Errorf(session.CodeInvalid, "the command %q of the project has something run: it %s", r.Command, why).At("command")
	}
	if err != nil {
		return api.Expanded{}, err
	}
	out := api.Expanded{Subtask: c.Subtask != nil && *c.Subtask}
	if c.Agent != "" {
		a, err := p.agents.Get(c.Agent)
		if err != nil {
			return out, err
		}
		out.Subtask = out.Subtask || a.Mode == session.ModeSubagent && c.Subtask == nil
		if out.Prompt.Model = a.Model; a.Selectable() {
			out.Prompt.Agent = a.ID
		}
	}
	if c.Model != nil {
		out.Prompt.Model = c.Model
	}
	e := c.Expand(r.Arguments)
	printed, err := exec.RunTemplate(ctx, p.tools.exec, exec.TemplateCommands{Lines: e.Lines, Args: e.Args, Arguments: e.Arguments})
	if err != nil {
		return out, session.Errorf(session.CodeInvalid, "the command %s: %v", c.Name, err).At("command")
	}
	out.Prompt.Text = e.Text(printed)
	for _, name := range e.Names() {
		if f, ok := l.mentioned(p, name); ok {
			out.Prompt.Files = append(out.Prompt.Files, f)
		} else if a, err := p.agents.Get(name); err == nil && !a.Hidden {
			out.Prompt.Agents = append(out.Prompt.Agents, session.AgentMention{Name: name})
		}
	}
	return out, nil
}

// mentioned is the file or directory of a name; false when there is none. A name below the top of the project does not
// lead out of it through a link: whose command it is, the links are the project's.
func (l *locations) mentioned(p *place, name string) (session.File, bool) {
	path := name
	if rest, atHome := strings.CutPrefix(name, "~/"); atHome {
		path = filepath.Join(l.dirs.Home, rest)
	}
	if !filepath.IsAbs(path) {
		top := cmp.Or(p.project.Worktree, p.project.Directory)
		if path = filepath.Join(top, path); filepath.IsLocal(name) && !staysBelow(top, path) {
			return session.File{}, false
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return session.File{}, false
	}
	f := session.File{Mime: "text/plain", Name: name, URI: (&url.URL{Scheme: "file", Path: filepath.ToSlash(path)}).String()}
	if info.IsDir() {
		f.Mime = "application/x-directory"
	}
	return f, true
}

// Attached implements v1.Places.
func (l *locations) Attached(ctx context.Context, at session.Location, id session.ID, page opencode.Page) (text string, whole *session.File, err error) {
	p, err := l.place(ctx, at.Directory)
	if err != nil {
		return "", nil, err
	}
	out, err := file.Attach(ctx, p.tools.file, file.Attachment{Session: id, Path: page.FilePath, Offset: page.Offset, Limit: page.Limit})
	if err != nil {
		return "", nil, err
	}
	for _, c := range out.Content {
		if c.Type == "file" {
			return "", &session.File{URI: c.URI, Mime: c.Mime}, nil
		}
		text += c.Text
	}
	return text, nil, nil
}

// staysBelow reports whether the path, links resolved, lies below the directory, of which links are resolved.
func staysBelow(dir, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && filepath.IsLocal(rel)
}
