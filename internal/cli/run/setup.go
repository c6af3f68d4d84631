package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// setup brings a session to where the prompt's work can be followed: it finds or creates the session, makes the prompt
// from its command, settles asks that are in the way, and sends the prompt. Each step can be repeated after a lost
// connection: the ids are the client's, and a repeated request changes nothing.
type setup struct {
	inv    *cli.Invocation
	plan   *plan
	client *api.Client
	desk   *askDesk

	located  bool                // the session is known to exist
	prepared bool                // agent, model, title and budget of an existing session are set
	sent     bool                // the prompt may have been admitted
	sandbox  session.SandboxMode // the session's
}

// run does all steps and returns the progress of the prompt, which begins with its admission.
func (s *setup) run(ctx context.Context) (*follow.Progress, error) {
	err := s.prepare(ctx)
	if err == nil {
		err = s.settlePendingAsks(ctx)
	}
	if err != nil {
		return nil, err
	}
	if !s.plan.openCode {
		s.notePlugins(ctx)
	}
	if s.plan.share && !s.sent {
		s.shareSession(ctx)
	}
	s.sent = true
	in, err := s.client.Prompt(ctx, s.plan.id, s.promptRequest())
	if err != nil && !s.plan.existing && cli.CodeOf(err) == cli.ExitUsage {
		return nil, s.deleteSession(ctx, err)
	}
	if err != nil {
		return nil, err
	}
	return follow.NewProgress(in.ID, in.AdmittedSeq), nil
}

// prepare finds or creates the session, applies the flags that change it, and makes the prompt from its command.
func (s *setup) prepare(ctx context.Context) error {
	switch {
	case s.plan.openCode:
		return s.prepareOpenCode(ctx)
	case !s.plan.existing:
		if err := s.chooseEffort(ctx, s.client, nil, s.plan.agent); err != nil {
			return err
		}
		if err := s.expandCommand(ctx); err != nil {
			return err
		}
		return s.createSession(ctx)
	case s.prepared:
		return nil
	}
	if err := s.prepareSession(ctx); err != nil {
		return err
	}
	err := s.expandCommand(ctx)
	s.selectForPrompt()
	return err
}

// shareSession shares the session and prints its address. The prompt goes on if that fails, as OpenCode's does.
// A prompt with a secret that this environment knows is not shared: the process that shares it may not know the secret.
func (s *setup) shareSession(ctx context.Context) {
	known, err := s.inv.CollectSecrets(ctx)
	if text := []byte(s.plan.prompt.Text); err == nil && !bytes.Equal(redact.MaskValues(text, known), text) {
		err = errors.New("the prompt has a secret that this environment knows; share the session later with cairn share, " +
			"which compares all of it")
	}
	if err != nil {
		s.desk.note("the session is not shared: " + err.Error())
		return
	}
	share, err := s.client.ShareSession(ctx, s.plan.id, api.ShareRequest{})
	if err != nil {
		s.desk.note("the session is not shared: " + err.Error())
		return
	}
	s.desk.note("shared at " + terminal.FirstLine(share.URL, 300))
}

func (s *setup) promptRequest() api.PromptRequest {
	p := api.PromptRequest{ID: s.plan.message, Prompt: &s.plan.prompt, Delivery: s.plan.delivery, Asks: s.plan.asks}
	if s.inv.Err.Terminal { // a person at the terminal decides whether to continue after a crash
		p.Recovery = session.RecoveryPause
	}
	return p
}

func (s *setup) createSession(ctx context.Context) error {
	created, err := s.client.Create(ctx, api.CreateSession{
		ID: s.plan.id, Agent: s.plan.agent, Model: s.plan.model, Title: s.plan.title, Budget: s.plan.budget,
		Location: &session.Location{Directory: s.plan.options.Dir}, Sandbox: s.plan.sandbox,
		Ephemeral:    s.plan.ephemeral,
		RequireModel: true, // an invalid setting leaves no empty session behind
	})
	if err != nil {
		return err
	}
	return s.checkSandbox(created)
}

// checkSandbox refuses a session that is less confined than the command line demands: one that began without, or that
// an older cairn made, which knows no modes.
func (s *setup) checkSandbox(found *session.Session) error {
	s.sandbox = found.Sandbox
	return checkSandbox(found, s.plan.sandbox)
}

func checkSandbox(s *session.Session, wanted session.SandboxMode) error {
	if s.Sandbox.IsAtLeast(wanted) {
		return nil
	}
	return session.Errorf(session.CodeConflict, "the session %s did not begin with the sandbox %q; start a new session",
		s.ID, string(wanted)).At("--sandbox")
}

// prepareSession finds an existing session and applies the flags that change it.
func (s *setup) prepareSession(ctx context.Context) error {
	c, p := s.client, s.plan
	// Find it.
	if p.last {
		newest, err := cli.FindNewest(ctx, c, cli.Newest{
			Here: p.here, Continue: true, Verb: "continuing ", Hint: "omit --continue to start one",
		}, s.desk.note)
		if err != nil {
			return err
		}
		p.id, p.last = newest.ID, false
	}
	found, err := s.inv.FindSession(ctx, c, string(p.id))
	if err != nil {
		return err
	}
	p.id = found.ID
	// Refuse it before anything changes, and name what the prompt would bring along.
	if err := s.checkSandbox(found); err != nil {
		return err
	}
	if err := cli.CheckDirectory(ctx, c, found, s.desk.note); err != nil {
		return err
	}
	here := c.In(found.Location.Directory)
	if err := s.chooseEffort(ctx, here, found.Model, cmp.Or(p.agent, found.Agent)); err != nil {
		return err
	}
	if err := s.notePendingPrompts(ctx); err != nil {
		return err
	}
	if shared := describe.DescribeNewSharedFiles(found); shared != "" {
		s.desk.note(shared)
	}
	if found.Open && p.asks == "" && !p.typed {
		s.desk.note(describe.OpenNote + "; omit --continue and --session to be asked, or use --ask")
	}
	// Apply the flags.
	if p.title != "" {
		if err := c.Rename(ctx, p.id, p.title); err != nil {
			return err
		}
	}
	if p.budget != nil {
		if err := c.SetBudget(ctx, p.id, p.budget); err != nil {
			return err
		}
	}
	s.prepared = true
	return nil
}

// prepareOpenCode finds or creates the session as OpenCode's run does. Agent and model belong to the prompt.
func (s *setup) prepareOpenCode(ctx context.Context) error {
	c, p := s.client, s.plan
	if s.prepared {
		return nil
	}
	var err error
	switch {
	case p.last:
		var newest *session.Session
		if newest, err = cli.NewestSession(ctx, c, p.options.Dir, "omit --continue to start one"); err == nil {
			p.id = newest.ID
		}
	case p.existing:
		_, err = c.Session(ctx, p.id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
			err = cli.NewExitError(cli.ExitUsage, errSessionNotFound, "")
		}
	default:
		p.id, err = createOpenCodeSession(ctx, c, p.title)
	}
	if err != nil {
		return err
	}
	p.existing, p.last, s.located = true, false, true
	// Agent and model are known now; a command may name others.
	if err := s.chooseOpenCodeAgent(ctx); err != nil {
		return err
	}
	if err := s.expandCommand(ctx); err != nil {
		return err
	}
	p.prompt.Agent = cmp.Or(p.agent, p.prompt.Agent)
	if p.model != nil {
		p.prompt.Model = p.model
	}
	s.prepared = true
	return nil
}

// selectForPrompt gives the prompt the agent and the model of the command line, which take effect with it. Those of its
// command have precedence.
func (s *setup) selectForPrompt() {
	p := &s.plan.prompt
	p.Agent = cmp.Or(p.Agent, s.plan.agent)
	if p.Model == nil {
		p.Model = s.plan.model
	}
}

// notePlugins says which plugins of the directory do not run, since they may be its guards. It waits until they are loaded,
// as the prompt does.
func (s *setup) notePlugins(ctx context.Context) {
	list, err := s.client.Plugins(ctx)
	if err != nil {
		return // the prompt says what is wrong
	}
	for _, one := range list.Data {
		if one.State.Error != "" {
			s.desk.noteProblem(one.ID, one.State.Error)
		}
	}
}

// chooseOpenCodeAgent replaces an unknown agent by the default one, as OpenCode does.
func (s *setup) chooseOpenCodeAgent(ctx context.Context) error {
	if s.plan.agent == "" {
		return nil
	}
	agents, err := s.client.Agents(ctx)
	if err != nil {
		return err
	}
	for _, x := range agents.Data {
		if x.ID == s.plan.agent && x.Mode != session.ModeSubagent {
			return nil
		}
	}
	s.desk.note(fmt.Sprintf("agent %q not found. Falling back to default agent", terminal.FirstLine(s.plan.agent, 60)))
	s.plan.agent = ""
	return nil
}

// deleteSession deletes the session that was created for a refused prompt.
func (s *setup) deleteSession(ctx context.Context, refused error) error {
	if err := s.client.Delete(ctx, s.plan.id); err != nil {
		s.desk.note("the empty session " + string(s.plan.id) + " is left behind: " + err.Error())
	}
	return refused
}

// notePendingPrompts names the pending prompts of an idle session: they are promoted with the next one.
func (s *setup) notePendingPrompts(ctx context.Context) error {
	pending, err := s.client.Inbox().List(ctx, s.plan.id)
	if err != nil || len(pending) == 0 {
		return err
	}
	active, err := s.client.Active(ctx)
	if _, works := active[s.plan.id]; err != nil || works {
		return err
	}
	waits := "1 prompt waits"
	if len(pending) > 1 {
		waits = fmt.Sprintf("%d prompts wait", len(pending))
	}
	first := describe.InputLine(pending[0], 80)
	s.desk.note(fmt.Sprintf("%s in the session and will be sent too: %q; to take one back, run "+
		"cairn inbox withdraw %s 1", waits, first, s.plan.id))
	return nil
}

// settlePendingAsks handles requests that were pending before this prompt, which would keep the session from it. A
// person is asked, a policy of the command line decides, and a run without either fails. With --queue they are left to
// others.
func (s *setup) settlePendingAsks(ctx context.Context) error {
	if !s.plan.existing {
		return nil
	}
	asks, err := follow.PendingAsks(ctx, s.client, s.plan.id)
	if err != nil {
		return err
	}
	for _, a := range asks {
		if err := s.desk.settleEarlier(a, s.plan.delivery); err != nil {
			return err
		}
	}
	return nil
}

// expandCommand makes the run's prompt from its command, once: what the template has run is not run again after a lost
// connection.
func (s *setup) expandCommand(ctx context.Context) error {
	p := s.plan
	if p.command == "" {
		return nil
	}
	c := *s.client
	if p.existing {
		found, err := c.Session(ctx, p.id)
		if err != nil {
			return err
		}
		c.Directory = found.Location.Directory
	}
	// Expand. Without a session a template that asks is denied; one is created then, to ask in.
	q := api.ExpandRequest{Command: p.command, Arguments: p.prompt.Text, Agent: p.agent, Asks: p.asks}
	var out api.Expansion
	var err error
	if !p.existing {
		if out, err = c.Expand(ctx, q); errors.Is(err, &session.Error{Code: session.CodeDenied}) {
			err = s.createSession(ctx) // to ask in
			q.SessionID = p.id
		}
	} else {
		q.SessionID = p.id
	}
	if err == nil && q.SessionID != "" {
		out, err = s.awaitExpansion(ctx, &c, q)
	}
	if err != nil && !p.existing && q.SessionID != "" && !follow.IsConnectionLost(err) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		defer cancel()
		return s.deleteSession(ctx, err)
	}
	if err != nil {
		hint := "cairn command list shows the commands"
		if instead := FindInstead(q.Command); instead != "" {
			hint = "/" + q.Command + " is a command of the full-screen interface; here: cairn " + instead
		}
		return cli.AddNotFoundHint(err, hint)
	}
	// The prompt is that of the command from here on.
	p.prompt.Files = append(p.prompt.Files, s.embedFiles(out.Prompt.Files)...)
	for i := range out.Prompt.Subtasks {
		t := &out.Prompt.Subtasks[i]
		t.Files = s.embedFiles(append(t.Files, p.prompt.Files...)) // they are for the subagent
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
func (s *setup) awaitExpansion(ctx context.Context, c *api.Client, q api.ExpandRequest) (api.Expansion, error) {
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
	// Nothing follows the session before its first prompt, so its asks are polled.
	shown := map[session.AskID]bool{}
	ticker := time.NewTicker(askInterval)
	defer ticker.Stop()
	for {
		select {
		case err := <-done:
			return out, err
		case <-ticker.C:
			asks, err := follow.PendingAsks(ctx, s.client, q.SessionID)
			if err != nil {
				continue // the call fails too if the server is gone
			}
			for _, a := range asks {
				if !shown[a.ID] {
					shown[a.ID] = true
					s.desk.handle(&session.PermissionAsked{Ask: a})
				}
			}
		case text, ok := <-s.desk.lines():
			if s.desk.handleLine(text, ok) {
				return out, errors.New("the terminal was closed before the command was sent")
			}
		}
		if err := s.desk.deliver(ctx, s.client); err != nil {
			return out, err
		}
	}
}

// embedFiles returns the files with their content. The files of a server elsewhere are on its machine.
func (s *setup) embedFiles(files []session.File) (out []session.File) {
	for _, f := range files {
		if s.plan.server == nil {
			f = embedFile(s.inv, f)
		}
		out = append(out, f)
	}
	return out
}

// embedFile is the file with its content, where it can be; else it is only named.
func embedFile(inv *cli.Invocation, f session.File) session.File {
	u, err := url.Parse(f.URI)
	if err != nil || u.Scheme != "file" {
		return f
	}
	with, err := inv.ReadAttachment(filepath.FromSlash(u.Path))
	if err != nil {
		return f
	}
	return with
}
