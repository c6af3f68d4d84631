package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/view"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// runner runs one prompt: it connects, admits the prompt, follows the session until the work is done, and reconnects
// when the owner of the store changes. One goroutine owns it.
type runner struct {
	app          *cli.Invocation
	plan         plan
	view         view.View
	started      time.Time
	terminal     *TerminalAsks // nil without a terminal
	live         *view.Live    // nil unless the output is a terminal
	headless     bool          // requests are denied because there is no terminal
	terminalGone bool          // the terminal was closed

	open        func(context.Context) (*cli.Connection, error) // nil: to the plan's server, or the owner of the store
	conn        *cli.Connection
	progress    *promptProgress     // nil until the prompt is admitted
	located     bool                // the session is known to exist
	sandbox     session.SandboxMode // the session's
	owner       string              // the other process that does the work, if one does
	prepared    bool                // agent, model, title and budget of an existing session are set
	sent        bool                // the prompt may have been admitted
	stopped     cli.ExitCode        // why we interrupted the session; 0: we did not
	resumes     int                 // how often the session was resumed without progress
	resumedAt   int64               // the cursor then
	answers     []follow.Answer     // not known to be delivered
	noted       map[string]bool     // notes that are said once
	settledAsks map[session.AskID]bool
	tasks       *follow.TaskWatch

	offer           string   // names a model in place of the guide
	missing         []string // addresses of instructions that were never fetched, after the work
	fill            float64  // of the model's window in percent, after the work; 0 is unknown
	notedUnfinished bool     // noteUnfinished was successful
}

// errTimeout is the cause with which --timeout ends waiting.
var errTimeout = errors.New("the timeout passed")

// run returns nil when the span says how it came out.
func (r *runner) run(ctx context.Context) error {
	defer func() { r.closeConnection(ctx) }()
	r.noted, r.settledAsks = map[string]bool{}, map[session.AskID]bool{}
	r.tasks = follow.NewTaskWatch()
	reached, since := false, time.Now()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		err := r.openSession(ctx)
		reached = reached || r.conn != nil
		if err == nil {
			since, wait = time.Now(), 50*time.Millisecond
			err = r.follow(ctx)
		}
		switch {
		case err == nil || !follow.IsConnectionLost(err) || !reached:
			r.readFill(ctx)
			r.readOffer(ctx)
			return r.describeLoss(err)
		case time.Since(since) > follow.ReconnectTimeout:
			return fmt.Errorf("the connection to cairn was lost and could not be restored: %w", err)
		}
		r.closeConnection(ctx)
		if err := r.waitToRetry(ctx, wait); err != nil {
			return err
		}
	}
}

// readFill reads what the session's next request takes of the model's window, and which instructions it lacks. Without
// an answer both stay unknown.
func (r *runner) readFill(ctx context.Context) {
	if r.conn == nil || r.progress == nil || r.plan.openCode {
		return
	}
	if next, err := (api.Contexts{Client: r.conn.API}).NextRequest(ctx, r.plan.id, false); err == nil {
		r.fill, r.missing = next.Window.Fill, next.Missing
	}
}

// offlineGuide is the model that answers if none was chosen.
const offlineGuide = "cairn/guide"

// readOffer reads which model could have answered in place of the guide.
func (r *runner) readOffer(ctx context.Context) {
	if r.conn == nil || r.progress == nil || r.plan.openCode || r.plan.model != nil ||
		r.progress.model.String() != offlineGuide {
		return
	}
	list, err := r.conn.API.Models(ctx)
	if err != nil {
		return
	}
	for _, m := range list.Data {
		name := string(m.ProviderID) + "/" + string(m.ID)
		if m.ProviderID == "cairn" {
			continue
		}
		r.offer = "the guide answered because no model is chosen; to use one that was found: cairn run -m " + name
		if r.plan.server == nil {
			r.offer += "; to make it the default: cairn config set model " + name
		}
		return
	}
}

// describeLoss explains the error of a session that was deleted while it worked.
func (r *runner) describeLoss(err error) error {
	if r.progress != nil && errors.Is(err, &session.Error{Code: session.CodeNotFound, Kind: "session"}) {
		return fmt.Errorf("session %s was deleted while it was working", r.plan.id)
	}
	return err
}

func (r *runner) waitToRetry(ctx context.Context, wait time.Duration) error {
	ctx, cancel := r.untilStopped(ctx)
	defer cancel()
	return follow.Sleep(ctx, wait)
}

// untilStopped is the context of what may be given up at the first signal or when --timeout passes.
func (r *runner) untilStopped(ctx context.Context) (context.Context, func()) {
	ctx, stop := r.app.UntilSignal(ctx)
	if r.plan.timeout == 0 {
		return ctx, stop
	}
	ctx, cancel := context.WithDeadlineCause(ctx, r.started.Add(r.plan.timeout), errTimeout)
	return ctx, func() { cancel(); stop() }
}

// closeConnection gives the connection up.
func (r *runner) closeConnection(ctx context.Context) {
	if r.conn == nil {
		return
	}
	if err := r.app.CloseConnection(ctx, r.conn, r.view.ShowNote); err != nil && ctx.Err() == nil {
		r.view.ShowNote("closing: " + err.Error())
	}
	r.conn = nil
}

// openSession connects and brings the session to where its work can be followed. Each step can be repeated: the ids
// are the client's, and a repeated request changes nothing.
func (r *runner) openSession(ctx context.Context) (err error) {
	whole := ctx
	ctx, cancel := r.untilStopped(ctx)
	defer cancel()
	if err = r.connect(ctx); err != nil {
		return err
	}
	if r.plan.openCode {
		err = r.prepareOpenCode(ctx)
	} else if !r.plan.existing {
		if err = r.expandCommand(ctx); err == nil {
			err = r.createSession(ctx)
		}
	} else if !r.prepared {
		if err = r.prepareSession(ctx); err == nil {
			err = r.expandCommand(ctx)
		}
		r.selectForPrompt()
	}
	if err == nil && r.progress == nil {
		err = r.settlePendingAsks(ctx)
	}
	if err == nil {
		err = r.admitPrompt(ctx)
	}
	if err == nil && !r.plan.openCode {
		r.noteUnfinished(ctx)
	}
	if r.progress == nil && !r.plan.existing && cli.CodeOf(err) == cli.ExitUsage && r.sent {
		return r.deleteSession(ctx, err)
	}
	if err != nil && r.sent && ctx.Err() != nil && whole.Err() == nil {
		if stop := r.stopWork(whole, false); !errors.Is(stop, &session.Error{Code: session.CodeNotFound}) {
			return cmp.Or(stop, err)
		}
	}
	return err
}

// noteUnfinished names, once, the other sessions of the directory whose work a crash interrupted.
func (r *runner) noteUnfinished(ctx context.Context) {
	if r.notedUnfinished {
		return
	}
	active, err := r.conn.API.Active(ctx)
	if err != nil { // the run itself goes on
		return
	}
	r.notedUnfinished = true
	var ids []session.ID
	for id, a := range active {
		if a.Type == api.TypeUnfinished && a.Directory == r.plan.options.Dir && id != r.plan.id {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	text := describe.DescribePaused(ids[0], "")
	if len(ids) > 1 {
		text += fmt.Sprintf(" (%d more: cairn session list)", len(ids)-1)
	}
	r.view.ShowNote(text)
}

// connect opens a connection to the server of the plan, or to the owner of the store on this machine.
func (r *runner) connect(ctx context.Context) (err error) {
	if r.open != nil {
		r.conn, err = r.open(ctx)
		return err
	}
	if r.plan.server == nil {
		if r.conn, err = r.app.Host.Open(ctx, r.plan.options); err == nil {
			r.owner = r.conn.Owner
		}
		return err
	}
	if r.conn, err = r.plan.server.connect(ctx, r.app); err == nil {
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
		if s, err = cli.NewestSession(ctx, c, p.options.Dir, "omit --continue to start one"); err == nil {
			p.id = s.ID
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
	p.existing, p.last, r.located = true, false, true
	if err := r.chooseOpenCodeAgent(ctx); err != nil {
		return err
	}
	if err := r.expandCommand(ctx); err != nil {
		return err
	}
	p.prompt.Agent = cmp.Or(p.agent, p.prompt.Agent)
	if p.model != nil {
		p.prompt.Model = p.model
	}
	r.prepared = true
	return nil
}

// selectForPrompt gives the prompt the agent and the model of the command line, which take effect with it. Those of its
// command have precedence.
func (r *runner) selectForPrompt() {
	p := &r.plan.prompt
	p.Agent = cmp.Or(p.Agent, r.plan.agent)
	if p.Model == nil {
		p.Model = r.plan.model
	}
}

// chooseOpenCodeAgent replaces an unknown agent by the default one, as OpenCode does.
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
	r.view.ShowNote(fmt.Sprintf("agent %q not found. Falling back to default agent", terminal.FirstLine(r.plan.agent, 60)))
	r.plan.agent = ""
	return nil
}

// deleteSession deletes the session that was created for a refused prompt.
func (r *runner) deleteSession(ctx context.Context, refused error) error {
	if err := r.conn.API.Delete(ctx, r.plan.id); err != nil {
		r.view.ShowNote("the empty session " + string(r.plan.id) + " is left behind: " + err.Error())
	}
	return refused
}

func (r *runner) createSession(ctx context.Context) error {
	s, err := r.conn.API.Create(ctx, api.CreateSession{
		ID: r.plan.id, Agent: r.plan.agent, Model: r.plan.model, Title: r.plan.title, Budget: r.plan.budget,
		Location: &session.Location{Directory: r.plan.options.Dir}, Sandbox: r.plan.sandbox,
		RequireModel: true, // an invalid setting leaves no empty session behind
	})
	if err != nil {
		return err
	}
	return r.checkSandbox(s)
}

// checkSandbox refuses a session that is less confined than the command line demands: one that began without, or that
// an older cairn made, which knows no modes.
func (r *runner) checkSandbox(s *session.Session) error {
	r.sandbox = s.Sandbox
	return checkSandbox(s, r.plan.sandbox)
}

func checkSandbox(s *session.Session, wanted session.SandboxMode) error {
	if s.Sandbox.IsAtLeast(wanted) {
		return nil
	}
	return session.Errorf(session.CodeConflict, "the session %s did not begin with the sandbox %q; start a new session",
		s.ID, string(wanted)).At("--sandbox")
}

// prepareSession finds an existing session and applies the flags that change it.
func (r *runner) prepareSession(ctx context.Context) error {
	c, p := r.conn.API, &r.plan
	if p.last {
		s, err := cli.NewestSession(ctx, c, p.options.Dir, "omit --continue to start one")
		if err != nil {
			return err
		}
		p.id, p.last = s.ID, false
	}
	s, err := r.app.FindSession(ctx, c, string(p.id))
	if err != nil {
		return err
	}
	p.id = s.ID
	if err := r.checkSandbox(s); err != nil {
		return err
	}
	if err := r.notePendingPrompts(ctx); err != nil {
		return err
	}
	if s.Open && p.asks == "" {
		r.view.ShowNote(describe.OpenNote + "; omit --continue and --session to be asked, or use --ask")
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

// notePendingPrompts names the pending prompts of an idle session: they are promoted with the next one.
func (r *runner) notePendingPrompts(ctx context.Context) error {
	pending, err := r.conn.API.Inbox().List(ctx, r.plan.id)
	if err != nil || len(pending) == 0 {
		return err
	}
	active, err := r.conn.API.Active(ctx)
	if _, works := active[r.plan.id]; err != nil || works {
		return err
	}
	waits := "1 prompt waits"
	if len(pending) > 1 {
		waits = fmt.Sprintf("%d prompts wait", len(pending))
	}
	first := terminal.FirstLine(pending[0].Text(), 80)
	r.view.ShowNote(fmt.Sprintf("%s in the session and will be sent too: %q; to take one back, run "+
		"cairn inbox withdraw %s 1", waits, first, r.plan.id))
	return nil
}

// admitPrompt sends the prompt. Sent again after a lost connection it is the same prompt, and wakes the session.
func (r *runner) admitPrompt(ctx context.Context) error {
	if r.progress != nil && r.progress.withdrawn {
		return nil
	}
	r.sent = true
	in, err := r.conn.API.Prompt(ctx, r.plan.id, r.promptRequest())
	if r.progress != nil {
		if errors.Is(err, &session.Error{Code: session.CodeConflict}) {
			return nil // the prompt was edited or redirected since
		}
		return err
	}
	if err == nil {
		r.progress = newPromptProgress(in.ID, in.AdmittedSeq)
		r.progress.admitted = true
	}
	return err
}

func (r *runner) promptRequest() api.PromptRequest {
	p := api.PromptRequest{ID: r.plan.message, Prompt: &r.plan.prompt, Delivery: r.plan.delivery, Asks: r.plan.asks}
	if r.app.Err.Terminal { // a person at the terminal decides whether to continue after a crash
		p.Recovery = session.RecoveryPause
	}
	return p
}

// showUpdate shows one update, if it belongs to the span.
func (r *runner) showUpdate(u api.Update) {
	switch {
	case u.Event != nil:
		if r.progress.apply(*u.Event) {
			r.handleAsk(u.Event.Data)
			r.tasks.NoteEvent(u.Event.Data)
			r.view.ShowEvent(*u.Event)
		}
	case u.Fragment != nil:
		if r.progress.begun && !r.progress.over {
			r.view.ShowFragment(*u.Fragment)
		}
	}
}

func (r *runner) noteWaiting() {
	if !r.progress.begun {
		r.noteOnce("the session is working on another prompt; this one is pending in its inbox")
	}
}

// noteOnce notes something that need not be said again.
func (r *runner) noteOnce(text string) {
	if !r.noted[text] {
		r.noted[text] = true
		r.view.ShowNote(text)
	}
}

// result says how the run came out.
func (r *runner) result(err error) view.Result {
	out := view.Result{
		SessionID: r.shownID(), Time: time.Now().UnixMilli(), Denials: []view.Denial{}, Sandbox: r.sandbox, Fill: r.fill,
	}
	out.Continue = r.continueCommand(out.SessionID)
	var why string
	if s := r.progress; s != nil {
		out.ExitCode, why = s.exitStatus()
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
		out.ExitCode, why, hint = cli.CodeOf(err), err.Error(), cli.HintOf(err)
		if follow.IsDamaged(err) {
			out.Continue = ""
		}
		if e, ok := errors.AsType[*session.Error](err); ok && hint == "" && e.Code == session.CodeNotFound &&
			e.Kind == "model" {
			hint = r.plan.withheld
		}
		if errors.Is(err, errTimeout) {
			out.ExitCode = cli.ExitTimeout
		}
	case r.stopped != 0 && out.ExitCode != cli.ExitOK:
		out.ExitCode = r.stopped
	}
	switch {
	case r.app.Out.Err != nil && r.stopped == cli.ExitFailure:
		out.ExitCode, why = cli.ExitFailure, "cannot write to standard output: "+r.app.Out.Err.Error()
	case r.progress != nil && r.progress.withdrawn && r.stopped == cli.ExitInterrupted:
		why = "interrupted while the prompt waited; the prompt was withdrawn"
	case r.progress != nil && r.progress.withdrawn && out.ExitCode == cli.ExitTimeout:
		why = fmt.Sprintf("--timeout %s passed while the prompt waited; the prompt was withdrawn", r.plan.timeout)
	case r.stopped == cli.ExitInterrupted && out.ExitCode == r.stopped && r.progress != nil && !r.progress.begun:
		why = "interrupted before the prompt could be withdrawn; if it is still pending, cairn inbox list shows it"
	case r.stopped == cli.ExitInterrupted && out.ExitCode == cli.ExitInterrupted:
		why = "interrupted; the session can be continued"
	case out.ExitCode == cli.ExitTimeout:
		why = fmt.Sprintf("--timeout %s passed; the session was interrupted", r.plan.timeout)
		if !r.sent {
			why = fmt.Sprintf("--timeout %s passed before the prompt was sent", r.plan.timeout)
		}
	}
	if out.IsError = out.ExitCode != cli.ExitOK; out.IsError {
		out.Error = &view.ResultError{Name: out.ExitCode.String(), Message: why, Hint: hint}
		r.addHint(&out)
	}
	return out
}

// shownID is the session's id once there is one.
func (r *runner) shownID() session.ID {
	if r.progress == nil && !r.prepared && !r.located {
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

// addHint adds the next step to the error.
func (r *runner) addHint(out *view.Result) {
	e := out.Error
	if r.progress != nil && r.progress.failure != nil {
		e.Reason = r.progress.failure.Reason
	}
	if e.Hint != "" {
		return
	}
	switch {
	case r.owner != "" && r.findOwnVariable(e.Message) != "":
		e.Hint = cli.DescribeOwnKey(r.findOwnVariable(e.Message), r.owner, "PROVIDER")
	case out.ExitCode == cli.ExitDenied && r.headless:
		e.Hint = "No terminal was available for questions. Use --ask=allow or --ask=wait:5m, or add a rule to the " +
			"configuration."
	case e.Reason == session.ReasonAuth && r.progress != nil:
		e.Hint = "Set the key: cairn auth login " + r.progress.model.ProviderID
	case e.Reason == session.ReasonQuota && r.progress != nil:
		e.Hint = "The account at " + r.progress.model.ProviderID + " has no credit left or has reached its limit. The key " +
			"is not the reason."
	case out.ExitCode == cli.ExitBudget && r.progress != nil && r.progress.limit == "price":
		e.Hint = "Set the price of the model in the configuration, or limit its tokens: --budget-tokens N"
	case out.ExitCode == cli.ExitBudget:
		e.Hint = fmt.Sprintf("Continue with a higher limit: cairn run -s %s %s … \"go on\"", out.SessionID, r.budgetFlag())
	}
}

// findOwnVariable returns a variable that the message names as missing although this process has it; "" if none.
func (r *runner) findOwnVariable(message string) string {
	isOther := func(c rune) bool { return c != '_' && (c < 'A' || c > 'Z') && (c < '0' || c > '9') }
	for _, name := range strings.FieldsFunc(message, isOther) {
		if strings.Contains(name, "_") && r.app.Env(name) != "" {
			return name
		}
	}
	return ""
}

// budgetFlag sets the limit that was reached.
func (r *runner) budgetFlag() string {
	limit := ""
	if r.progress != nil {
		limit = r.progress.limit
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
