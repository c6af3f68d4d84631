package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/peer"
	"github.com/cairn-dev/cairn/internal/session"
)

// attachFlags say which server a command is a client of, and as whom.
type attachFlags struct {
	url, user, password string
}

// peer is a client of the server at the URL: cairn's or OpenCode's.
func (f *attachFlags) peer(a *app) (*peer.Client, error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef("the URL of a server is like http://localhost:4096, got %q", line(f.url, 200))
	}
	auth := api.Auth{User: f.user, Password: f.password}
	if auth.User == "" {
		auth.User = config.Getenv(a.Env, "SERVER_USERNAME")
	}
	if auth.Password == "" {
		auth.Password = config.Getenv(a.Env, "SERVER_PASSWORD")
	}
	if in := u.User; in != nil {
		auth.User = in.Username()
		auth.Password, _ = in.Password()
		u.User = nil
	}
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse } // the password is for this server
	return &peer.Client{
		HTTP: &http.Client{CheckRedirect: stay}, Base: strings.TrimSuffix(u.Scheme+"://"+u.Host+u.Path, "/"), Auth: auth,
	}, nil
}

// notAttached are flags of run that are about a cairn of its own; another's server decides that itself.
var notAttached = []string{
	"ask", "format-schema", "queue", "steer", "budget-usd", "budget-tokens", "budget-turns", "budget-time", "sandbox", "record", "replay", "trust",
}

// runAttached puts the prompt to a server as OpenCode's run does: with --attach to one elsewhere, and under the name
// opencode to our own.
func (a *app) runAttached(ctx context.Context, f *runFlags, args []string) error {
	for _, name := range notAttached {
		if f.given(name) {
			return usagef("--%s is for a cairn that works here; the server at --attach decides that itself", name)
		}
	}
	v := newAttachedView(a, f)
	r := &attachedRun{app: a, flags: f, view: v}
	err := r.prepare(args)
	if err == nil {
		err = r.reach(ctx, r.work)
	}
	return v.close(r.outcome(err))
}

// attachedRun is one prompt to a server.
type attachedRun struct {
	app     *app
	flags   *runFlags
	view    *attachedView
	prompt  peer.Prompt
	client  *peer.Client
	session peer.Session
}

// prepare checks the command line, before anybody is asked.
func (r *attachedRun) prepare(args []string) error {
	f := r.flags
	text, err := r.app.attachedText(args)
	if err != nil {
		return err
	}
	switch {
	case f.interactive:
		return usagef("--interactive needs OpenCode's own terminal interface: opencode attach shows it for this server")
	case f.fork && f.session == "" && !f.last:
		return usagef("--fork needs --continue or --session: it goes on with a copy of what was said there")
	case strings.TrimSpace(text) == "" && f.command == "":
		return usagef("the prompt is empty: say what you want, or name a command with --command")
	}
	if f.session != "" {
		if err := session.CheckID("--session", session.PrefixSession, f.session); err != nil {
			return err
		}
	}
	model, err := parseModel(f.model)
	if err != nil {
		return err
	}
	r.prompt = peer.Prompt{Agent: f.agent, Variant: f.variant}
	if model != nil {
		if r.prompt.Variant == "" {
			r.prompt.Variant = model.Variant
		}
		r.prompt.Model = &peer.Model{ProviderID: model.ProviderID, ModelID: model.ID}
		if f.command != "" {
			r.prompt.Model = model.String()
		}
	}
	files, err := r.app.attachments(f.files)
	if err != nil {
		return err
	}
	for _, file := range files {
		r.prompt.Parts = append(r.prompt.Parts, peer.Part{Type: "file", Mime: file.Mime, Filename: file.Name, URL: file.URI})
	}
	if f.command != "" {
		r.prompt.Command, r.prompt.Arguments = f.command, text
		return nil
	}
	r.prompt.Parts = append(r.prompt.Parts, peer.Part{Type: "text", Text: text})
	return nil
}

// attachedText is the prompt: what is typed and, under the name opencode, what stands on a standard input that is no
// terminal.
func (a *app) attachedText(args []string) (string, error) {
	if a.asOpenCode() && !terminalInput(a.Stdin) {
		piped, err := a.promptText([]string{"-"})
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(piped) == "" {
			return strings.Join(args, " "), nil
		}
		return strings.TrimPrefix(strings.Join(args, " ")+"\n"+piped, "\n"), nil
	}
	return a.promptText(args)
}

// terminalInput reports whether somebody types at the input, so that it has no end.
func terminalInput(in any) bool {
	f, ok := in.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err != nil || info.Mode()&os.ModeCharDevice != 0
}

// reach connects to the server, and calls f.
func (r *attachedRun) reach(ctx context.Context, f func(context.Context) error) error {
	a := r.app
	if r.flags.attach.url != "" {
		var err error
		if r.client, err = r.flags.attach.peer(a); err != nil {
			return err
		}
		r.client.Directory = r.flags.dir // on the server's machine
		return f(ctx)
	}
	o, err := a.options(r.flags.dir)
	if err != nil {
		return err
	}
	here := *a
	here.Dir = o.Dir
	return here.connected(ctx, func(ctx context.Context, c *api.Client) error {
		r.client = peerOf(c)
		return f(ctx)
	})
}

// work finds or makes the session, and sees the prompt through. A signal stops the session first.
func (r *attachedRun) work(whole context.Context) error {
	ctx, stop := r.app.orderly(whole)
	defer stop()
	if r.flags.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, r.flags.timeout, errLate)
		defer cancel()
	}
	if err := r.find(ctx); err != nil {
		return err
	}
	r.view.session = session.ID(r.session.ID)
	r.client.Directory = r.session.Directory
	if err := r.choose(ctx); err != nil {
		return err
	}
	if r.flags.share {
		if s, err := r.client.Share(ctx, r.session.ID); err != nil {
			r.view.note("it is not shared: " + err.Error())
		} else if s.Share != nil {
			r.view.note("shared at " + s.Share.URL)
		}
	}
	err := r.client.Work(ctx, r.session.ID, r.prompt, r.view)
	if ctx.Err() != nil && whole.Err() == nil {
		end, cancel := context.WithTimeout(whole, interruptTime)
		defer cancel()
		if aerr := r.client.Abort(end, r.session.ID); aerr != nil {
			r.view.note("the session may go on: " + aerr.Error())
		}
	}
	return err
}

// headlessRules are those of a session in which nobody can be asked, as OpenCode's run makes it.
var headlessRules = []peer.Rule{
	{Permission: "question", Pattern: "*", Action: "deny"}, {Permission: "plan_enter", Pattern: "*", Action: "deny"}, {Permission: "plan_exit", Pattern: "*", Action: "deny"},
}

func (r *attachedRun) find(ctx context.Context) (err error) {
	f := r.flags
	switch {
	case f.session != "":
		r.session, err = r.client.Session(ctx, f.session)
	case f.last:
		if r.session, err = r.client.Newest(ctx); err == nil && r.session.ID == "" {
			err = noSession()
		}
	default:
		r.session, err = r.client.Create(ctx, peer.NewSession{Title: f.title, Permission: headlessRules})
	}
	if err == nil && f.fork {
		r.session, err = r.client.Fork(ctx, r.session.ID)
	}
	if e, ok := errors.AsType[*peer.Error](err); ok && e.Status == http.StatusNotFound && f.session != "" {
		return sessionNotFound()
	}
	return err
}

// choose leaves an agent away that cannot be had, as OpenCode does: the default one works.
func (r *attachedRun) choose(ctx context.Context) error {
	name := r.prompt.Agent
	if name == "" {
		return nil
	}
	all, err := r.client.Agents(ctx)
	if err != nil {
		return err
	}
	for _, x := range all {
		if x.Name == name && x.Mode != "subagent" {
			return nil
		}
	}
	if !r.app.asOpenCode() {
		var names []string
		for _, x := range all {
			if x.Mode != "subagent" && !x.Hidden {
				names = append(names, x.Name)
			}
		}
		return session.NotFound("agent", name, names...)
	}
	r.prompt.Agent = ""
	r.view.note(fmt.Sprintf("agent %q not found. Falling back to default agent", line(name, 60)))
	return nil
}

// outcome is how the run came out.
func (r *attachedRun) outcome(err error) error {
	if errors.Is(err, errLate) {
		return &exit{exitTimeout, fmt.Errorf("--timeout %s passed; the session was interrupted", r.flags.timeout), ""}
	}
	return peerError(r.client, err)
}

// peerError tells what a server refused, or that it cannot be reached.
func peerError(c *peer.Client, err error) error {
	if e, ok := errors.AsType[*peer.Unreachable](err); ok && c != nil { // whose address has no password
		return &exit{exitError, fmt.Errorf("the server at %s cannot be reached: %w", line(c.Base, 200), e.Err), ""}
	}
	if e, ok := errors.AsType[*peer.Error](err); ok {
		code := exitError
		if e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound {
			code = exitUsage
		}
		hint := ""
		if e.Status == http.StatusUnauthorized {
			hint = "Say the server's password with --password, or in OPENCODE_SERVER_PASSWORD."
		}
		return &exit{code, errors.New(e.Message), hint}
	}
	return err
}
