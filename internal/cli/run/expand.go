package run

import (
	"context"
	"errors"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
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
	q := api.ExpandRequest{Command: p.command, Arguments: p.prompt.Text, Agent: p.agent, Asks: p.asks}
	var out api.Expansion
	var err error
	if !p.existing {
		if out, err = c.Expand(ctx, q); errors.Is(err, &session.Error{Code: session.CodeDenied}) {
			err = r.createSession(ctx) // to ask in
			q.SessionID = p.id
		}
	} else {
		q.SessionID = p.id
	}
	if err == nil && q.SessionID != "" {
		out, err = r.awaitExpansion(ctx, &c, q)
	}
	if err != nil && !p.existing && q.SessionID != "" && !follow.IsConnectionLost(err) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		return r.deleteSession(ctx, err)
	}
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

// askInterval is the interval at which the asks of a command that is expanded are read.
const askInterval = 100 * time.Millisecond

// awaitExpansion makes the call, and puts what it asks to the person meanwhile.
func (r *runner) awaitExpansion(ctx context.Context, c *api.Client, q api.ExpandRequest) (api.Expansion, error) {
	ctx, cancel := context.WithCancel(ctx)
	var out api.Expansion
	done := make(chan error, 1)
	var call sync.WaitGroup
	defer call.Wait()
	defer cancel()
	call.Go(func() {
		var err error
		out, err = c.Expand(ctx, q)
		done <- err
	})
	shown := map[session.AskID]bool{}
	ticker := time.NewTicker(askInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return out, err
		case <-ticker.C:
			asks, err := follow.PendingAsks(ctx, r.conn.API, q.SessionID)
			if err != nil {
				continue // the call fails too if the server is gone
			}
			for _, a := range asks {
				if !shown[a.ID] {
					shown[a.ID] = true
					r.handleAsk(&session.PermissionAsked{Ask: a})
				}
			}
		case text, ok := <-r.terminalLines():
			r.onTerminalLine(text, ok)
		}
		if err := r.deliver(ctx); err != nil {
			return out, err
		}
	}
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
