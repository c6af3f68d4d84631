package host

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/fileuri"
	"github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// commandSet returns the commands of a location, with its current skills.
func (l *locationCache) commandSet(p *locationSetup) *command.Set {
	var skills []command.Skill
	for _, s := range p.skills.Find().Skills {
		skills = append(skills, command.Skill{
			Name: s.Name, Description: s.Description, Content: s.Content, Directory: s.Dir(),
		})
	}
	return command.New(p.config, listServerPrompts(p), skills)
}

// findCommand returns a command by name. A name with a colon may be a prompt of an MCP server that does not run yet.
func (l *locationCache) findCommand(ctx context.Context, p *locationSetup, name string) (command.Command, error) {
	c, err := l.commandSet(p).Get(name)
	if err == nil || !strings.Contains(name, ":") {
		return c, err
	}
	p.servers.AwaitAll(ctx)
	return l.commandSet(p).Get(name)
}

// listServerPrompts returns the prompts of MCP servers as commands.
func listServerPrompts(p *locationSetup) (out []command.Command) {
	for _, c := range p.servers.Commands() {
		out = append(out, command.Command{
			Name: c.Name, Description: c.Description, Source: command.FromMCP, Arguments: c.Arguments,
			Fetch: func(ctx context.Context, arguments []string) (string, error) {
				return p.servers.ExpandCommand(ctx, c, arguments)
			},
		})
	}
	return out
}

// Commands implements v2.Locations.
func (l *locationCache) Commands(ctx context.Context, at session.Location) ([]api.Command, error) {
	p, err := l.load(ctx, at.Directory)
	if err != nil {
		return nil, err
	}
	out := []api.Command{}
	for _, c := range l.commandSet(p).List() {
		out = append(out, api.Command{
			Name: c.Name, Description: c.Description, Agent: c.Agent, Model: c.Model, Subtask: c.Subtask,
			Template: c.Template, Source: string(c.Source), Hints: c.Placeholders(),
		})
	}
	return out, nil
}

// Expand implements v2.Locations. It returns the prompt of a command, after it has run the shell commands of its
// template, if permit allows that.
func (l *locationCache) Expand(
	ctx context.Context, at session.Location, r api.ExpandRequest, permit command.Permit,
) (api.Expansion, error) {
	p, release, err := l.acquire(ctx, at.Directory) // its extensions see the prompt, after the person was asked
	if err != nil {
		return api.Expansion{}, err
	}
	defer release()
	// Find the command, or say why a project's command does not run.
	c, err := l.findCommand(ctx, p, r.Command)
	if why := p.config.UntrustedCommandReason(strings.TrimPrefix(r.Command, "/")); err != nil && why != "" {
		err = session.Errorf(session.CodeInvalid, "the project's command %q cannot run: it %s", r.Command, why).
			At("command")
	}
	if err != nil {
		return api.Expansion{}, err
	}
	if c.Fetch != nil { // plain text: nothing in it is run or read
		text, err := c.Fetch(ctx, command.SplitArguments(r.Arguments))
		if err != nil {
			return api.Expansion{}, session.Errorf(session.CodeUnavailable, "%v", err).At("command")
		}
		out := api.Expansion{Prompt: session.Prompt{Text: text}}
		err = showCommand(ctx, p, r, c.Name, &out) // changes out
		return out, err
	}
	// Agent and model: of the command, whose agent may make it a subtask.
	out, isSubtask := api.Expansion{}, c.Subtask != nil && *c.Subtask
	if c.Agent != "" {
		a, err := p.agents.Get(c.Agent)
		if err != nil {
			return out, err
		}
		isSubtask = isSubtask || a.Mode == session.ModeSubagent && c.Subtask == nil
		if out.Prompt.Model = a.Model; a.IsSelectable() || !isSubtask { // subtask: false runs a subagent in the session
			out.Prompt.Agent = a.ID
		}
	}
	if c.Model != nil {
		out.Prompt.Model = c.Model
	}
	// Files and agents that the text mentions. Files that the user did not type need a permission.
	e := c.Expand(r.Arguments)
	needs := command.Needs{Lines: e.Lines, Agent: cmp.Or(r.Agent, out.Prompt.Agent)}
	typed := command.FindMentions(r.Arguments)
	for _, name := range e.Names() {
		if f, path, ok := l.findMentionedFile(p, name); ok {
			out.Prompt.Files = append(out.Prompt.Files, f)
			if !slices.Contains(typed, name) {
				needs.Files = append(needs.Files, path)
			}
		} else if a, err := p.agents.Get(name); err == nil && !a.Hidden {
			out.Prompt.Agents = append(out.Prompt.Agents, session.AgentMention{Name: name})
		}
	}
	// Run the shell lines of the template, if they are permitted.
	readOnly, err := permit(ctx, needs)
	if err != nil {
		return api.Expansion{}, explainRefusal(c, err)
	}
	printed, err := exec.RunTemplate(ctx, p.tools.exec, exec.TemplateCommands{
		Lines: e.Lines, Args: e.Args, Arguments: e.Arguments, Confine: l.unaskedConfinement(p.config, readOnly),
	})
	if err != nil {
		return out, session.Errorf(session.CodeInvalid, "the command %s: %v", c.Name, err).At("command")
	}
	out.Prompt.Text = e.PromptText(printed)
	if isSubtask {
		out.Prompt = subtaskPrompt(c, out.Prompt)
	}
	err = showCommand(ctx, p, r, c.Name, &out) // changes out
	return out, err
}

// showCommand shows an expanded command to the extensions, which may change its prompt. One that fails refuses it.
func showCommand(ctx context.Context, p *locationSetup, r api.ExpandRequest, name string, out *api.Expansion) error {
	v := extension.Command{SessionID: r.SessionID, Name: name, Arguments: r.Arguments, Prompt: out.Prompt}
	by, err := p.scope.Chain.Begin().Command(ctx, &v)
	if failure, ok := errors.AsType[*extension.Error](err); ok {
		return session.Errorf(session.CodeInvalid, "the extension %s refused the command %s: %v",
			failure.Extension, name, failure.Err).At("command")
	}
	out.Prompt, out.Extensions = v.Prompt, by
	return err
}

// explainRefusal names the command whose template may not do what it wants.
func explainRefusal(c command.Command, err error) error {
	if e, ok := errors.AsType[*session.Error](err); ok && e.Code == session.CodeDenied {
		return session.Errorf(session.CodeDenied, "the command %s was not run: %s", c.Name, e.Message)
	}
	return err
}

// subtaskPrompt returns the prompt that hands the command to a subagent. Its own agent and model are the session's, and
// those of the subtask where the command names none.
func subtaskPrompt(c command.Command, p session.Prompt) session.Prompt {
	return session.Prompt{Subtasks: []session.Subtask{{
		Agent: c.Agent, Prompt: p.Text, Description: c.Description, Model: p.Model, Command: c.Name, Files: p.Files,
	}}}
}

// findMentionedFile returns the file or directory that a command mentions, with its path; false if it does not exist. A
// name below the top of the project must not lead out of it through a link, since the project controls its links.
func (l *locationCache) findMentionedFile(p *locationSetup, name string) (f session.File, path string, ok bool) {
	path = name
	if rest, atHome := strings.CutPrefix(name, "~/"); atHome {
		path = filepath.Join(l.dirs.Home, rest)
	}
	if !filepath.IsAbs(path) {
		top := cmp.Or(p.project.Worktree, p.project.Directory)
		if path = filepath.Join(top, path); filepath.IsLocal(name) && !staysBelow(top, path) {
			return f, path, false
		}
	}
	info, err := os.Stat(path)
	if err != nil {
		return f, path, false
	}
	f = session.File{Mime: "text/plain", Name: name, URI: fileuri.Format(path)}
	if info.IsDir() {
		f.Mime = "application/x-directory"
	}
	return f, path, true
}

// staysBelow reports whether a path is below dir after its links are resolved. dir has no links.
func staysBelow(dir, path string) bool {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(dir, real)
	return err == nil && filepath.IsLocal(rel)
}
