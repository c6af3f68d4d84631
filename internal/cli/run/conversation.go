package run

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/cli/view"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// conversation is a session at a terminal: what happens is shown as it comes, and typed lines are prompts, answers to
// asks, or commands. One goroutine, that of run, owns all fields but the channels.
type conversation struct {
	app        *cli.Invocation
	api        *api.Client
	view       *view.Text
	asks       *AskQueue
	tasks      *follow.TaskWatch // of the session
	ids        session.IDs
	interrupts <-chan struct{}
	sandbox    session.SandboxMode // of sessions that begin here
	background sync.WaitGroup

	lines    chan typedLine
	updates  chan follow.SessionUpdate
	idle     chan sessionIdle
	expanded chan expandedCommand
	failures chan error // of interrupts

	session  *session.Session // nil until the first prompt
	cursor   int64            // seq of the newest event that was shown
	end      int64            // seq at which the session is idle; -1 unknown
	working  bool
	ownWork  bool // the newest promoted prompt was sent by this conversation
	waiting  bool // a goroutine waits for the session to become idle
	own      map[session.MessageID]bool
	queued   map[session.MessageID]bool // own prompts that are not promoted yet
	leave    context.CancelFunc         // ends the goroutines of the session
	asksSeen atomic.Int64               // asks that were shown, for the reader of lines

	agent     string            // of the next prompts; "" is the session's
	model     *session.ModelRef // likewise
	listed    []string          // names of the last list, chosen by number
	prompting bool              // the sign that a line is wanted is the last on the screen
	lost      bool              // the event stream broke
	warned    bool              // Ctrl-C was pressed, and no line typed since
	done      bool
}

// typedLine is a line from the terminal, or its end.
type typedLine struct {
	text string
	asks int64 // asks that had been shown when the line was typed
	eof  bool
}

// sessionIdle says that a session became idle after the event end, or why that is unknown.
type sessionIdle struct {
	id  session.ID
	end int64
	err error
}

// callTimeout bounds a call of the API: the conversation does not react while it waits.
const callTimeout = 30 * time.Second

func newConversation(a *cli.Invocation, c *api.Client, interrupts <-chan struct{}) *conversation {
	t := &conversation{
		app: a, api: c, view: view.NewText(a, false), interrupts: interrupts, tasks: follow.NewTaskWatch(),
		lines: make(
			chan typedLine,
		), updates: make(chan follow.SessionUpdate), idle: make(chan sessionIdle), failures: make(chan error),
		expanded: make(chan expandedCommand), leave: func() {},
	}
	t.asks = &AskQueue{Out: a.Err, Marks: a.Marks, BeforeShow: func() {
		a.Out.EndLine()
		t.prompting = false
		t.asksSeen.Add(1)
	}}
	t.view.IsAsking = func() bool { return len(t.asks.Pending) > 0 }
	return t
}

// run holds the conversation until it is left, the terminal ends or the session cannot be read. It continues s, if any,
// and shows that many of its messages first.
func (t *conversation) run(ctx context.Context, s *session.Session, replay int) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() { // the goroutines end with ctx, but for the reader, which ends with the process
		cancel()
		t.background.Wait()
		t.tasks.Wait()
	}()
	go t.readLines(ctx)
	if s != nil {
		if err := t.openSession(ctx, s, replay); err != nil {
			return err
		}
	}
	for !t.done {
		t.handleTasks(ctx, t.tasks.Watch(ctx, t.api)...)
		t.showPrompt()
		select {
		case l := <-t.lines:
			t.onLine(ctx, l)
		case u := <-t.updates:
			if err := t.onUpdate(ctx, u); err != nil {
				return err
			}
		case e := <-t.tasks.Events:
			t.handleTasks(ctx, e)
		case i := <-t.idle:
			t.onIdle(i)
		case x := <-t.expanded:
			t.onExpanded(ctx, x)
		case err := <-t.failures:
			t.showNote(err.Error())
		case <-t.interrupts:
			if t.onInterrupt(ctx) {
				return cli.ErrSignal
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// readLines sends typed lines. Each says how many asks had been shown when it was typed: an earlier line is no answer.
func (t *conversation) readLines(ctx context.Context) {
	in := bufio.NewScanner(t.app.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		if !sendOrDone(ctx, t.lines, typedLine{text: in.Text(), asks: t.asksSeen.Load()}) {
			return
		}
	}
	sendOrDone(ctx, t.lines, typedLine{eof: true})
}

// sendOrDone sends a value, unless ctx ends first.
func sendOrDone[T any](ctx context.Context, to chan<- T, v T) bool {
	select {
	case to <- v:
		return true
	case <-ctx.Done():
		return false
	}
}

// showPrompt shows the prompt for a line, if the session is idle and no ask is open.
func (t *conversation) showPrompt() {
	if t.prompting || t.working || len(t.asks.Pending) > 0 {
		return
	}
	t.app.Out.EndLine()
	t.app.Err.EndLine()
	t.app.Err.Printf("> ")
	t.prompting = true
}

func (t *conversation) showNote(text string) {
	t.prompting = false
	t.view.ShowNote(text)
}

// showText shows a line of the conversation's own.
func (t *conversation) showText(text string) {
	t.prompting = false
	t.view.ShowLine("", " ", terminal.FirstLine(text, 300))
}

// callAPI makes a call of the API and shows its error. It reports whether there was none.
func (t *conversation) callAPI(ctx context.Context, f func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := f(ctx)
	if err != nil {
		t.showNote(err.Error())
	}
	return err == nil
}

// closeSession leaves the session, if any. The next prompt begins another one.
func (t *conversation) closeSession() {
	t.leave()
	t.tasks.Stop()
	t.leave, t.session = func() {}, nil
	t.working, t.ownWork, t.waiting, t.lost = false, false, false, false
	t.asks.Clear()
	t.own, t.queued = map[session.MessageID]bool{}, map[session.MessageID]bool{}
}

// openSession shows the newest messages of the session, follows it from there on, and puts its pending asks.
func (t *conversation) openSession(ctx context.Context, s *session.Session, replay int) error {
	o, err := loadSession(ctx, t.api, s.ID, replay)
	if err != nil {
		return err
	}
	t.closeSession()
	t.session, t.cursor = s, o.head
	t.showText(describe.SessionTitle(s) + "  " + string(s.ID))
	if s.Open {
		t.showNote(describe.OpenNote + "; /new begins one that asks")
	}
	for _, m := range o.messages {
		t.view.ReplayMessage(m)
	}
	t.followSession(ctx)
	if hasTasks := t.tasks.NoteJobs(s.Jobs); hasTasks || o.status.Type != api.StatusIdle {
		t.expectIdle(ctx)
	}
	t.tasks.NoteRunning(o.newest)
	for _, a := range o.asks {
		t.asks.Add(a)
	}
	return nil
}

// openedSession is the content of a session that was opened.
type openedSession struct {
	head     int64 // read first: the events behind it are followed
	messages []session.Message
	newest   session.Message // nil without any
	status   api.Status
	asks     []session.PendingAsk
}

func loadSession(ctx context.Context, c *api.Client, id session.ID, replay int) (o openedSession, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if o.head, err = c.Head(ctx, id); err != nil {
		return o, err
	}
	if o.messages, err = newestMessages(ctx, c, id, replay); err != nil {
		return o, err
	}
	last, err := newestMessages(ctx, c, id, 1)
	if err != nil {
		return o, err
	}
	if len(last) > 0 {
		o.newest = last[0]
	}
	if o.status, err = c.Status(ctx, id); err != nil {
		return o, err
	}
	o.asks, err = follow.PendingAsks(ctx, c, id)
	return o, err
}

// maxReplay is the most messages that are shown of a session when it is opened.
const maxReplay = 200

// newestMessages returns the newest n messages of a session, oldest first; with a negative n those from the last prompt
// on.
func newestMessages(ctx context.Context, c *api.Client, id session.ID, n int) ([]session.Message, error) {
	if n == 0 {
		return nil, nil
	}
	limit := min(n, maxReplay)
	if n < 0 {
		limit = 50
	}
	page, err := c.Messages(ctx, id, api.MessageQuery{Limit: limit})
	if err != nil {
		return nil, err
	}
	messages := page.Data // newest first
	if n < 0 {
		isPrompt := func(m session.Message) bool { _, ok := m.(*session.User); return ok }
		messages = messages[:slices.IndexFunc(messages, isPrompt)+1]
	}
	slices.Reverse(messages)
	return messages, nil
}

// followSession starts the goroutine that reads the session's events behind the cursor.
func (t *conversation) followSession(ctx context.Context) {
	ctx, t.leave = context.WithCancel(ctx)
	id, after := t.session.ID, t.cursor
	t.background.Go(func() {
		follow.FollowSession(
			ctx,
			t.api,
			id,
			after,
			func(u follow.SessionUpdate) bool { return sendOrDone(ctx, t.updates, u) },
		)
	})
}

// expectIdle notes that the session works, and starts the goroutine that reports when it is idle again.
func (t *conversation) expectIdle(ctx context.Context) {
	t.working, t.end = true, -1
	if t.waiting {
		return
	}
	t.waiting = true
	id := t.session.ID
	t.background.Go(func() {
		err := t.api.Wait(ctx, id)
		for ; follow.IsConnectionLost(err) && ctx.Err() == nil; err = t.api.Wait(ctx, id) {
			_ = follow.Sleep(ctx, 200*time.Millisecond) // the loop ends with ctx
		}
		var end int64
		if err == nil {
			end, err = t.api.Head(ctx, id)
		}
		sendOrDone(ctx, t.idle, sessionIdle{id, end, err})
	})
}

// onIdle ends the work once all that happened before is shown.
func (t *conversation) onIdle(i sessionIdle) {
	if t.session == nil || i.id != t.session.ID {
		return
	}
	t.waiting, t.end = false, i.end
	if i.err != nil {
		t.showNote(i.err.Error())
		t.end = t.cursor
	}
	t.working = t.cursor < t.end
}

// onUpdate shows an update. It returns the error after which the session cannot be followed any more.
func (t *conversation) onUpdate(ctx context.Context, u follow.SessionUpdate) error {
	if t.session == nil || u.ID != t.session.ID {
		return nil
	}
	switch {
	case errors.Is(u.Err, &session.Error{Code: session.CodeNotFound}):
		t.showNote("this session was deleted; the next prompt begins another one")
		t.closeSession()
		return nil
	case u.Final:
		return u.Err
	case u.Err != nil:
		if !t.lost {
			t.showNote("the connection is lost; reconnecting")
		}
		t.lost = true
		return nil
	case t.lost:
		t.lost = false
		t.showNote("connected again")
	}
	if f := u.Update.Fragment; f != nil {
		t.prompting = false
		t.view.ShowFragment(*f)
	}
	if e := u.Update.Event; e != nil && e.Seq > t.cursor {
		t.cursor = e.Seq
		t.showEvent(ctx, *e)
		if !t.waiting && t.end >= 0 && t.cursor >= t.end {
			t.working = false
		}
	}
	return nil
}

// showEvent shows an event, and updates from it whether the session works and which asks are open.
func (t *conversation) showEvent(ctx context.Context, e session.Event) {
	switch d := e.Data.(type) {
	case *session.Prompted:
		delete(t.queued, d.MessageID)
		t.ownWork = t.own[d.MessageID]
		if !t.own[d.MessageID] {
			t.prompting = false
			t.view.ShowPrompt(d.Prompt.Text)
		}
		t.expectIdle(ctx)
	case *session.StepStarted, *session.CompactionStarted:
		t.prompting = false
		t.expectIdle(ctx)
	case *session.TextEnded, *session.ToolCalled, *session.ToolSuccess, *session.ToolFailed:
		t.prompting = false
	case *session.StepEnded:
		if how := session.DescribeFinish(d.Finish); how != "" {
			t.showNote(how)
		}
	case *session.StepFailed:
		t.showFailure(d.Error)
	case *session.Interrupted:
		t.showFailure(d.Error)
	}
	t.handleAsk(ctx, e.Data)
	t.tasks.NoteEvent(e.Data)
	t.view.ShowEvent(e)
}

func (t *conversation) showFailure(f session.Failure) {
	if f.Reason == session.ReasonAborted {
		t.showNote("stopped")
		return
	}
	t.showNote(f.Message)
}

// onLine handles a typed line.
func (t *conversation) onLine(ctx context.Context, l typedLine) {
	t.app.Err.Midline, t.app.Out.Midline, t.prompting = false, false, false // Enter began a new line
	if l.eof {
		t.done = true
		return
	}
	t.warned = false
	name, arguments, isCommand := parseSlash(l.text)
	switch {
	case isCommand:
		t.runCommand(ctx, slashCommand{name, arguments})
	case len(t.asks.Pending) > 0 && l.asks >= t.asksSeen.Load():
		if ans, ok := t.asks.Answer(l.text); ok {
			t.sendAnswer(ctx, ans)
		}
	case l.text != "":
		t.sendPrompt(ctx, session.Prompt{Text: l.text})
	}
}

// handleAsk puts what the session or one of its tasks asks, and removes what is answered.
func (t *conversation) handleAsk(ctx context.Context, d session.EventData) {
	switch d := d.(type) {
	case *session.PermissionAsked:
		if ans, ok := t.asks.AnswerApproved(d.Ask); ok {
			t.sendAnswer(ctx, ans)
			return
		}
		t.asks.Add(d.Ask)
	case *session.PermissionReplied:
		t.asks.Remove(d.AskID, string(d.By))
	}
}

// handleTasks shows the asks of the session's tasks.
func (t *conversation) handleTasks(ctx context.Context, events ...follow.TaskEvent) {
	for _, e := range events {
		if t.tasks.AcceptEvent(e) {
			t.handleAsk(ctx, e.Data)
		}
	}
}

// sendAnswer delivers an answer. If that fails, the ask is shown again.
func (t *conversation) sendAnswer(ctx context.Context, ans follow.Answer) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	err := follow.SendAnswer(ctx, t.api, ans)
	defer showNextAsk(ctx, t.api, t.asks, ans)
	if err == nil || errors.Is(err, &session.Error{Code: session.CodeConflict}) ||
		errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return
	}
	t.showNote(fmt.Sprintf("the answer could not be sent: %v", err))
	t.asks.Add(ans.Ask)
}

// sendPrompt sends a prompt, and creates the session for the first one. While the session works the prompt is queued.
func (t *conversation) sendPrompt(ctx context.Context, p session.Prompt) {
	if t.session == nil && !t.createSession(ctx) {
		return
	}
	p.Agent = cmp.Or(t.agent, p.Agent)
	if t.model != nil {
		p.Model = t.model
	}
	r := api.PromptRequest{
		ID: session.MessageID(t.ids.New(session.PrefixMessage)), Prompt: &p, Delivery: session.Steer,
		Recovery: session.RecoveryPause,
	}
	if t.working {
		r.Delivery = session.Queue
	}
	t.own[r.ID], t.ownWork = true, t.ownWork || !t.working
	admit := func(ctx context.Context) error { _, err := t.api.Prompt(ctx, t.session.ID, r); return err }
	if !t.callAPI(ctx, admit) {
		return
	}
	if r.Delivery == session.Queue {
		t.queued[r.ID] = true
		t.showText("queued: " + p.Text)
	}
	t.expectIdle(ctx)
}

func (t *conversation) createSession(ctx context.Context) bool {
	var s *session.Session
	create := func(ctx context.Context) (err error) {
		s, err = t.api.Create(ctx, api.CreateSession{
			ID: session.ID(t.ids.New(session.PrefixSession)), Sandbox: t.sandbox,
		})
		return err
	}
	if !t.callAPI(ctx, create) {
		return false
	}
	t.closeSession()
	t.session, t.cursor, t.end = s, -1, -1
	t.followSession(ctx)
	return true
}

// describeRunningWork describes what happens to the session's work after the conversation ends. The caller appends the
// command that continues it. If this process owns the store, the work ends with the process.
func (t *conversation) describeRunningWork(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	if h, err := t.api.Health(ctx); err == nil && h.PID == os.Getpid() {
		return fmt.Sprintf("session %s is still working in this process, which stops it after 30s: "+
			"only cairn serve keeps sessions working. To continue it, run: ", t.session.ID)
	}
	return fmt.Sprintf("session %s is still working; to show it again, run: ", t.session.ID)
}

// onInterrupt withdraws what was queued here, and interrupts the session if it works on a prompt from here. It reports
// whether the conversation ends: at the second Ctrl-C in a row.
func (t *conversation) onInterrupt(ctx context.Context) bool {
	if t.warned {
		return true
	}
	t.warned = true
	switch {
	case !t.working:
		t.showNote("press Ctrl-C again to leave, or type /quit")
	case t.ownWork:
		t.showNote("interrupting; press Ctrl-C again to leave")
		t.stopWork(ctx, true)
	case len(t.queued) > 0:
		t.showNote("withdrawing what you queued; the work of another client goes on; press Ctrl-C again to leave")
		t.stopWork(ctx, false)
	default:
		t.showNote("the session works for another client; type /abort to stop that, press Ctrl-C again to leave")
	}
	return false
}

// stopWork withdraws what was queued here and, with interrupt, stops the session's work.
func (t *conversation) stopWork(ctx context.Context, interrupt bool) {
	id, queued := t.session.ID, t.queued
	t.queued = map[session.MessageID]bool{}
	t.background.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		for m := range queued {
			if err := t.api.Inbox().Withdraw(ctx, id, m); err != nil &&
				!errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
				sendOrDone(ctx, t.failures, fmt.Errorf("withdraw a queued prompt: %w", err))
			}
		}
		if !interrupt {
			return
		}
		if err := t.api.Interrupt(ctx, id); err != nil {
			sendOrDone(ctx, t.failures, fmt.Errorf("interrupt the session: %w", err))
		}
	})
}
