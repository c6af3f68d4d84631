package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// runner sees one prompt through: it connects, admits the prompt, follows the session until the work is done, and
// connects again when the owner of the store goes away meanwhile. It belongs to one goroutine.
type runner struct {
	app       *app
	plan      plan
	view      view
	started   time.Time
	questions *questioner // nil: nobody to ask here
	headless  bool        // asks are denied because there is nobody to ask
	deaf      bool        // there was a terminal, and nobody answers there any more

	open     func(context.Context) (*Connection, error) // nil: to the server of the plan, or the owner of the store
	conn     *Connection
	span     *span           // nil until the prompt is admitted
	located  bool            // the session is known to exist
	prepared bool            // agent, model, title and budget of an existing session are set
	sent     bool            // the prompt may have been admitted
	stopped  exitCode        // why we interrupted the session; 0: we did not
	nudges   int             // how often the session was told to go on, without progress
	nudged   int64           // the cursor then
	answers  []answer        // not known to be delivered
	told     map[string]bool // notes that are said once
	done     map[session.AskID]bool
}

// errLate is the cause with which --timeout ends waiting.
var errLate = errors.New("the time is up")

// patience is how long a lost connection is tried again.
const patience = time.Minute

// work returns nil when the span says how it came out.
func (r *runner) work(ctx context.Context) error {
	defer func() { r.disconnect(ctx) }()
	r.told, r.done = map[string]bool{}, map[session.AskID]bool{}
	reached, since := false, time.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := r.setup(ctx)
		reached = reached || r.conn != nil
		if err == nil {
			since, wait = time.Now(), 50*time.Millisecond
			err = r.follow(ctx)
		}
		switch {
		case err == nil || !lost(err) || !reached:
			return r.gone(err)
		case time.Since(since) > patience:
			return fmt.Errorf("the connection to cairn was lost and could not be made again: %w", err)
		}
		r.disconnect(ctx)
		if err := r.pause(ctx, wait); err != nil {
			return err
		}
	}
}

// lost reports whether another connection may help. It does not when the owner is there and says that its data must be
// mended.
func lost(err error) bool {
	if _, ok := errors.AsType[*api.TransportError](err); ok {
		return true
	}
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == session.CodeUnavailable && e.Kind != api.KindStore && e.Kind != api.KindDamaged
}

// damaged reports whether the session's stored data is why it was refused.
func damaged(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Kind == api.KindDamaged
}

// gone words the one error that means something else once the work goes on.
func (r *runner) gone(err error) error {
	if r.span != nil && errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
		return fmt.Errorf("the session %s was deleted meanwhile", r.plan.id)
	}
	return err
}

func (r *runner) pause(ctx context.Context, wait time.Duration) error {
	ctx, cancel := r.patient(ctx)
	defer cancel()
	return sleep(ctx, wait)
}

// patient is the context of what may be given up at the first signal or when --timeout passes.
func (r *runner) patient(ctx context.Context) (context.Context, func()) {
	ctx, stop := r.app.orderly(ctx)
	if r.plan.timeout == 0 {
		return ctx, stop
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.started.Add(r.plan.timeout), errLate)
	return ctx, func() { cancel(); stop() }
}

// disconnect gives the connection up.
func (r *runner) disconnect(ctx context.Context) {
	if r.conn == nil {
		return
	}
	if err := r.app.giveUp(ctx, r.conn, r.view.note); err != nil && ctx.Err() == nil {
		r.view.note("closing: " + err.Error())
	}
	r.conn = nil
}

// setup connects and brings the session to where its work can be followed. Each step can be repeated: the ids are
// ours, and the same request again is no second request.
func (r *runner) setup(ctx context.Context) (err error) {
	whole := ctx
	ctx, cancel := r.patient(ctx)
	defer cancel()
	if err = r.connect(ctx); err != nil {
		return err
	}
	if r.plan.openCode {
		err = r.prepareOpenCode(ctx)
	} else if !r.plan.existing {
		if err = r.expand(ctx); err == nil {
			err = r.create(ctx)
		}
	} else if !r.prepared {
		if err = r.prepare(ctx); err == nil {
			err = r.expand(ctx)
		}
	}
	if err == nil && r.span == nil {
		err = r.unblock(ctx)
	}
	if err == nil {
		err = r.admit(ctx)
	}
	if r.span == nil && !r.plan.existing && codeOf(err) == exitUsage {
		return r.unmake(ctx, err)
	}
	if err != nil && r.sent && ctx.Err() != nil && whole.Err() == nil {
		return firstOf(r.giveUp(whole), err)
	}
	return err
}

// connect opens a connection to the server of the plan, or to the owner of the store on this machine.
func (r *runner) connect(ctx context.Context) (err error) {
	if r.open != nil {
		r.conn, err = r.open(ctx)
		return err
	}
	if r.plan.server == nil {
		r.conn, err = r.app.host.Open(ctx, r.plan.options)
		return err
	}
	if r.conn, err = r.plan.server.connect(ctx, r.app.Env); err == nil {
		r.plan.options.Dir = r.conn.API.Directory
	}
	return err
}

// prepareOpenCode finds or creates the session as OpenCode's run does. Agent and model belong to the prompt.
func (r *runner) prepareOpenCode(ctx context.Context) error {
	c, p := r.conn.API, &r.plan
	if r.prepared {
		return nil
	}
	var err error
	switch {
	case p.last:
		var s *session.Session
		if s, err = newest(ctx, c, p.options.Dir, "leave --continue away to begin one"); err == nil {
			p.id = s.ID
		}
	case p.existing:
		_, err = c.Session(ctx, p.id)
		if errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
			err = &exit{exitUsage, errSessionNotFound, ""}
		}
	default:
		p.id, err = createOpenCodeSession(ctx, c, p.title)
	}
	if err != nil {
		return err
	}
	p.existing, p.last, r.located = true, false, true
	if err := r.chooseOpenCodeAgent(ctx); err != nil {
		return err
	}
	if err := r.expand(ctx); err != nil {
		return err
	}
	p.prompt.Agent = cmp.Or(p.agent, p.prompt.Agent)
	if p.model != nil {
		p.prompt.Model = p.model
	}
	r.prepared = true
	return nil
}

// chooseOpenCodeAgent falls back to the default agent if there is none of that name, as OpenCode does.
func (r *runner) chooseOpenCodeAgent(ctx context.Context) error {
	if r.plan.agent == "" {
		return nil
	}
	agents, err := r.conn.API.Agents(ctx)
	if err != nil {
		return err
	}
	for _, x := range agents.Data {
		if x.ID == r.plan.agent && x.Mode != session.ModeSubagent {
			return nil
		}
	}
	r.view.note(fmt.Sprintf("agent %q not found. Falling back to default agent", line(r.plan.agent, 60)))
	r.plan.agent = ""
	return nil
}

// unmake takes the session away that was made for a prompt which is refused.
func (r *runner) unmake(ctx context.Context, refused error) error {
	if !r.sent {
		return refused
	}
	if err := r.conn.API.Delete(ctx, r.plan.id); err != nil {
		r.view.note("the empty session " + string(r.plan.id) + " is left behind: " + err.Error())
	}
	return refused
}

// giveUp interrupts a session whose prompt may have been admitted although we never heard so.
func (r *runner) giveUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, interruptTime)
	defer cancel()
	return r.conn.API.Interrupt(ctx, r.plan.id)
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) create(ctx context.Context) error {
	_, err := r.conn.API.Create(ctx, api.CreateSession{
		ID: r.plan.id, Agent: r.plan.agent, Model: r.plan.model, Title: r.plan.title, Budget: r.plan.budget,
		Location: &session.Location{Directory: r.plan.options.Dir},
	})
	return err
}

// prepare finds an existing session and applies the flags that change it.
func (r *runner) prepare(ctx context.Context) error {
	c, p := r.conn.API, &r.plan
	if p.last {
		s, err := newest(ctx, c, p.options.Dir, "leave --continue away to begin one")
		if err != nil {
			return err
		}
		p.id, p.last = s.ID, false
	} else if _, err := c.Session(ctx, p.id); err != nil {
		return withNearestSessions(ctx, c, err)
	}
	if p.agent != "" {
		if err := c.SwitchAgent(ctx, p.id, p.agent); err != nil {
			return err
		}
	}
	if p.model != nil {
		if err := c.SwitchModel(ctx, p.id, *p.model); err != nil {
			return err
		}
	}
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
	r.prepared = true
	return nil
}

// newest returns the newest session of the directory; the hint says what to do when there is none.
func newest(ctx context.Context, c *api.Client, dir, hint string) (*session.Session, error) {
	root := session.ID("")
	page, err := c.Sessions(ctx, api.SessionQuery{Directory: dir, Parent: &root, Limit: 1})
	if err != nil {
		return nil, err
	}
	if len(page.Data) == 0 {
		return nil, &exit{exitUsage, fmt.Errorf("there is no session in %s", dir), hint}
	}
	return page.Data[0], nil
}

// admit sends the prompt. Sent again after a lost connection it is the same prompt, and wakes the session.
func (r *runner) admit(ctx context.Context) error {
	if r.span != nil && r.span.withdrawn {
		return nil
	}
	r.sent = true
	in, err := r.conn.API.Prompt(ctx, r.plan.id, r.promptRequest())
	if r.span != nil {
		if errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			return nil // somebody edited or redirected it since
		}
		return err
	}
	if err == nil {
		r.span = newSpan(in.ID, in.AdmittedSeq)
		r.span.admitted = true
	}
	return err
}

func (r *runner) promptRequest() api.PromptRequest {
	return api.PromptRequest{ID: r.plan.message, Prompt: &r.plan.prompt, Delivery: r.plan.delivery, Asks: r.plan.asks}
}

// take shows one update, if it belongs to the span.
func (r *runner) take(u api.Update) {
	switch {
	case u.Event != nil:
		if r.span.see(*u.Event) {
			r.permission(u.Event.Data)
			r.view.event(*u.Event)
		}
	case u.Fragment != nil:
		if r.span.begun && !r.span.over {
			r.view.fragment(*u.Fragment)
		}
	}
}

func (r *runner) sayWaiting() {
	if !r.span.begun {
		r.once("the session is at work on something else; this prompt waits in its inbox")
	}
}

// once notes something that need not be said again.
func (r *runner) once(text string) {
	if !r.told[text] {
		r.told[text] = true
		r.view.note(text)
	}
}

// result says how the run came out.
func (r *runner) result(err error) result {
	out := result{SessionID: r.shownID(), Time: time.Now().UnixMilli(), Denials: []denial{}}
	out.Continue = r.continueCommand(out.SessionID)
	var why string
	if s := r.span; s != nil {
		out.ExitCode, why = s.outcome()
		out.Text, out.Turns, out.Usage, out.Cost = strings.Join(s.said, "\n"), s.turns, s.tokens, s.cost
		out.Agent, out.Finish, out.Value = s.agent, s.finish, s.value
		out.Denials = append(out.Denials, s.denials...)
		if s.model.ID != "" {
			out.Model = s.model.String()
		}
	}
	var hint string
	switch {
	case err != nil:
		out.ExitCode, why, hint = codeOf(err), err.Error(), hintOf(err)
		if damaged(err) {
			out.Continue = ""
		}
		if e, ok := errors.AsType[*session.Error](err); ok && hint == "" && e.Code == session.CodeNotFound && e.Kind == "model" {
			hint = r.plan.withheld
		}
		if errors.Is(err, errLate) {
			out.ExitCode = exitTimeout
		}
	case r.stopped != 0 && out.ExitCode != exitOK:
		out.ExitCode = r.stopped
	}
	switch {
	case r.app.out.err != nil && r.stopped == exitError:
		out.ExitCode, why = exitError, "standard output cannot be written: "+r.app.out.err.Error()
	case r.stopped == exitInterrupted && out.ExitCode == exitInterrupted:
		why = "interrupted; the session can be continued"
	case out.ExitCode == exitTimeout:
		why = fmt.Sprintf("--timeout %s passed; the session was interrupted", r.plan.timeout)
		if !r.sent {
			why = fmt.Sprintf("--timeout %s passed before the prompt could be given", r.plan.timeout)
		}
	}
	if out.IsError = out.ExitCode != exitOK; out.IsError {
		out.Error = &resultError{Name: out.ExitCode.String(), Message: why, Hint: hint}
		r.advise(&out)
	}
	return out
}

// shownID is the session's id once there is one.
func (r *runner) shownID() session.ID {
	if r.span == nil && !r.prepared && !r.located {
		return ""
	}
	return r.plan.id
}

// continueCommand is the command that continues the session.
func (r *runner) continueCommand(id session.ID) string {
	attach := ""
	if r.plan.server != nil {
		attach = "--attach " + r.plan.server.publicURL() + " "
	}
	return "cairn run " + attach + "-s " + string(id) + ` "…"`
}

// advise says what to do about it.
func (r *runner) advise(out *result) {
	e := out.Error
	if r.span != nil && r.span.failure != nil {
		e.Reason = r.span.failure.Reason
	}
	if e.Hint != "" {
		return
	}
	switch {
	case out.ExitCode == exitDenied && r.headless:
		e.Hint = "There was no terminal to ask on. Say --ask=allow or --ask=wait:5m, or write a rule into the configuration."
	case e.Reason == session.ReasonAuth && r.span != nil:
		e.Hint = "Set the key: cairn auth login " + r.span.model.ProviderID
	case out.ExitCode == exitBudget:
		e.Hint = fmt.Sprintf("Go on with a higher one: cairn run -s %s %s … \"go on\"", out.SessionID, r.budgetFlag())
	}
}

// budgetFlag sets the limit that was reached.
func (r *runner) budgetFlag() string {
	limit := ""
	if r.span != nil {
		limit = r.span.limit
	}
	switch limit {
	case "tokens", "turns":
		return "--budget-" + limit
	case "wall":
		return "--budget-time"
	default:
		return "--budget-usd"
	}
}
