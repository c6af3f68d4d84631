package run

import (
	"context"
	"net/url"
	"path/filepath"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// expandCommand makes the run's prompt from its command, once: what the template has run is not run again after a lost
// connection.
func (r *runner) expandCommand(ctx context.Context) error {
	p := &r.plan
	if p.command == "" {
		return nil
	}
	c := *r.conn.API
	if p.existing {
		s, err := c.Session(ctx, p.id)
		if err != nil {
			return err
		}
		c.Directory = s.Location.Directory
	}
	out, err := c.Expand(ctx, api.ExpandRequest{Command: p.command, Arguments: p.prompt.Text})
	if err != nil {
		return err
	}
	p.prompt.Files = append(p.prompt.Files, r.embedFiles(out.Prompt.Files)...)
	for i := range out.Prompt.Subtasks {
		t := &out.Prompt.Subtasks[i]
		t.Files = r.embedFiles(append(t.Files, p.prompt.Files...)) // they are for the subagent
		p.prompt.Files = nil
	}
	p.prompt.Text, p.prompt.Agents, p.command = out.Prompt.Text, out.Prompt.Agents, ""
	p.prompt.Subtasks = out.Prompt.Subtasks
	p.prompt.Agent, p.prompt.Model = out.Prompt.Agent, out.Prompt.Model
	return nil
}

// embedFiles returns the files with their content. The files of a server elsewhere are on its machine.
func (r *runner) embedFiles(files []session.File) (out []session.File) {
	for _, f := range files {
		if r.plan.server == nil {
			f = runCommand{r.app}.embedFile(f)
		}
		out = append(out, f)
	}
	return out
}

// embedFile is the file with its content, where it can be; else it is only named.
func (g runCommand) embedFile(f session.File) session.File {
	u, err := url.Parse(f.URI)
	if err != nil || u.Scheme != "file" {
		return f
	}
	with, err := g.inv.ReadAttachment(filepath.FromSlash(u.Path))
	if err != nil {
		return f
	}
	return with
}
