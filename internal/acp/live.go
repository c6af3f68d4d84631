package acp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// liveSession is a session that a client has opened: what happens in it is sent to the client, and what it asks is put
// to the client, until it is closed. One goroutine, the loop (run), follows it.
type liveSession struct {
	agent     *agent
	client    *api.Client // its location is the session's directory
	id        session.ID
	directory string
	windows   map[session.ModelRef]int64 // the context windows of models, in tokens
	offers    []api.Model
	actions   chan func(*follow.Watch) // to be called by the loop; see runInLoop
	live      chan follow.Update       // output and notes for the loop; what does not fit is dropped
	done      chan struct{}            // closed when the session is not followed any more
	asks      sync.WaitGroup           // asks, reads of buffers, and settings

	serverChanges chan struct{} // capacity 1: the state of an MCP server has changed

	cancelling sync.Mutex // held while the work is being stopped

	mu           sync.Mutex // guards the fields up to the next comment
	choices      sessionChoices
	prompts      []*promptWork      // of this client, until their work is over
	cancel       context.CancelFunc // stops following; nil before start
	isClosed     bool
	lastSlot     chan struct{}     // of the newest request that changes the session
	cancelQueued bool              // a cancel has not begun yet
	servers      []v2.MCPServer    // that the client added when it opened the session last
	serverStates map[string]string // of these servers, as they were sent last, by name

	// The rest is used by the loop, and before start by the request that opens the session.
	head        follow.State    // what the client has of the session
	info        session.Session // as of the newest event
	jobs        []session.Job
	seq         int64 // of the newest event
	working     []*promptWork
	state       workState
	idleWaiters []chan struct{}
	pending     map[session.AskID]openAsk // asks that were put to the client
	shown       map[session.PartID]string // tools of calls of subagents that were shown because of an ask
	items       *itemTracker
	replayEnd   int64 // the transcript that was sent includes no event behind it
	used        int64 // tokens of the model's window that the newest request took
}

// liveBuffer is how many updates of output and notes wait for a session that is busy.
const liveBuffer = 16

// openSession reads what a client shows of a session beside its messages. servers are those that the client has added.
func openSession(
	ctx context.Context, a *agent, found *session.Session, servers []v2.MCPServer,
) (*liveSession, error) {
	c := at(a.options.Client, found.Location.Directory)
	s := &liveSession{
		agent: a, client: c, id: found.ID, directory: found.Location.Directory, windows: map[session.ModelRef]int64{},
		actions: make(chan func(*follow.Watch)), live: make(chan follow.Update, liveBuffer),
		done: make(chan struct{}), state: newWorkState(), info: *found,
		pending: map[session.AskID]openAsk{}, shown: map[session.PartID]string{},
		items: newItemTracker(found.Location.Directory), serverChanges: make(chan struct{}, 1),
	}
	s.setServers(servers)
	// Where the session is: what happens from here on is followed.
	var err error
	if s.head, err = follow.ReadState(ctx, c, found.ID); err != nil {
		return nil, err
	}
	s.seq = s.head.Head
	if s.jobs, err = c.Jobs().List(ctx, found.ID); err != nil {
		return nil, err
	}
	if newest, ok := s.head.Newest.(*session.Assistant); ok {
		s.items.model = newest.Model
		s.noteUsage(newest.Tokens)
	}
	for _, j := range s.jobs {
		if j.Status == session.JobRunning {
			s.state.noteTask(s.id, &session.JobStarted{Job: j})
		}
	}
	return s, s.readChoices(ctx, found)
}

// start begins to follow the session, behind what the client has of it, unless it was closed meanwhile.
func (s *liveSession) start() {
	ctx, cancel := context.WithCancel(s.agent.life)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		cancel()
		return
	}
	s.cancel = cancel
	s.agent.startFeed()
	s.agent.following.Go(func() {
		defer close(s.done)
		defer s.asks.Wait()
		defer cancel()
		if s.agent.features.readFile {
			s.asks.Go(func() { s.serveBuffers(ctx) })
		}
		s.asks.Go(func() {
			s.sendSettings(ctx)
			s.followServers(ctx)
		})
		s.run(ctx)
	})
}

// stop stops following the session.
func (s *liveSession) stop() {
	s.mu.Lock()
	wasClosed, cancel := s.isClosed, s.cancel
	s.isClosed = true
	s.mu.Unlock()
	switch {
	case cancel != nil:
		cancel()
		<-s.done
	case !wasClosed: // it was not followed yet
		close(s.done)
	}
}

// runInLoop has the loop call a function, and returns when that is done. Without an error it was called.
func (s *liveSession) runInLoop(ctx context.Context, action func(*follow.Watch)) error {
	acted := make(chan struct{})
	select {
	case s.actions <- func(w *follow.Watch) { defer close(acted); action(w) }:
		<-acted
		return nil
	case <-s.done:
		return errNotOpen
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reload sends the transcript, if the client wants it again, and the state. The loop does that between two updates.
func (s *liveSession) reload(ctx context.Context, replays bool) error {
	var failure error
	err := s.runInLoop(ctx, func(*follow.Watch) { failure = s.resend(ctx, replays) })
	return cmp.Or(err, failure)
}

// resend is the part of reload for the loop.
func (s *liveSession) resend(ctx context.Context, replays bool) error {
	if replays {
		before := s.items
		s.items, s.head.Head = newItemTracker(s.directory), s.seq
		s.items.model = before.model
		if err := s.replay(ctx); err != nil {
			s.items = before
			return err
		}
	}
	s.send(stateChanged{state: s.state.reported})
	if s.used > 0 {
		s.sendUsage()
	}
	return nil
}

// send sends an update to the client.
func (s *liveSession) send(u update) {
	for _, params := range s.agent.currentDialect().update(s.id, u, s.currentChoices()) {
		s.agent.conn.notify("session/update", params)
	}
}

// sendSettings sends the commands, and which of the client's servers are not connected.
func (s *liveSession) sendSettings(ctx context.Context) {
	s.sendCommands(ctx)
	s.noteServerChange()
}

// sendCommands sends the commands of the directory. Without them the client offers those that it has.
func (s *liveSession) sendCommands(ctx context.Context) {
	var list api.AtLocation[[]api.Command]
	err := follow.RepeatUntilAnswered(ctx, func() (err error) {
		list, err = s.client.Commands(ctx)
		return err
	})
	if err != nil {
		return
	}
	var out commandList
	for _, c := range list.Data {
		out.commands = append(out.commands, command{c.Name, cmp.Or(c.Description, c.Name), strings.Join(c.Hints, " ")})
	}
	if len(out.commands) > 0 {
		s.send(out)
	}
}

// run is the loop: it sends what happens until ctx ends or the session cannot be followed.
func (s *liveSession) run(ctx context.Context) {
	w := follow.Start(ctx, s.client, s.id, follow.Options{
		After: s.head.Head, Tasks: true, Newest: s.head.Newest, Jobs: s.jobs,
	})
	defer w.Stop()
	// Put the asks that wait already, and expect the end of work that goes on already.
	for _, a := range s.head.Asks {
		s.forwardAsk(ctx, a)
	}
	if s.state.working {
		w.ExpectIdle()
	}
	for ctx.Err() == nil { // first: a session that is closed sends nothing more
		select {
		case <-ctx.Done():
		case action := <-s.actions:
			action(w)
		case u := <-s.live:
			s.handle(ctx, w, u)
		case u, ok := <-w.C:
			if !ok { // ctx has ended
				s.endPrompts(errNotOpen)
				return
			}
			if u.End != nil {
				s.giveUp(u.End)
				return
			}
			s.handle(ctx, w, u)
		}
	}
	s.endPrompts(errNotOpen)
}

// giveUp ends a session that cannot be followed any more, such as one that was deleted elsewhere: it is not open then.
func (s *liveSession) giveUp(why error) {
	s.agent.drop(s)
	s.endPrompts(why)
	s.send(notice{"the session cannot be followed any more", why.Error() + "; if it still exists, load it again"})
}

// handle sends an update, settles the prompts whose work is over, and reports the state of the work.
func (s *liveSession) handle(ctx context.Context, w *follow.Watch, u follow.Update) {
	// Send what has happened.
	switch {
	case u.Event != nil:
		s.seq = u.Event.Seq
		s.state.apply(u.Event.Data)
		s.state.noteTask(s.id, u.Event.Data)
		s.sendEvent(*u.Event)
		s.handleAsk(ctx, u.Event.Data)
	case u.Fragment != nil:
		s.sendAll(s.items.applyFragment(*u.Fragment))
	case u.Output != nil:
		s.sendAll(s.items.applyOutput(*u.Output))
	case u.Note != nil:
		s.send(notice{u.Note.Source, u.Note.Text})
	case u.Task != nil:
		s.state.noteTask(u.Task.SessionID, u.Task.Data)
		s.handleAsk(ctx, u.Task.Data)
		s.handleTaskCall(u.Task.Data)
	case u.Found: // another server may have read other files
		s.asks.Go(func() {
			s.agent.restoreServers(ctx)
			s.sendSettings(ctx)
		})
	}
	// Answer the prompts whose work is over; then the client is told that the session is idle.
	results := s.settlePrompts(ctx, w, u)
	isExpected := slices.ContainsFunc(s.working, func(p *promptWork) bool { return p.isExpected })
	if u.Idle && !isExpected {
		s.state.working = false
	}
	s.reportState(results)
	s.releaseWaiters()
}

// reportFirstState sends the state of a session that the client opens again, and what it has cost.
func (s *liveSession) reportFirstState(ctx context.Context) error {
	active, err := s.client.Active(ctx)
	if err != nil {
		return err
	}
	s.state.working = active[s.id].Type == api.TypeRunning
	for _, a := range s.head.Asks {
		s.state.noteAsk(a)
	}
	s.state.reported = s.state.name()
	s.send(stateChanged{state: s.state.reported})
	if s.used > 0 {
		s.sendUsage()
	}
	return nil
}

func (s *liveSession) sendAll(updates []update) {
	for _, u := range updates {
		s.send(u)
	}
}

// sendEvent sends what an event changes, and notes choices and costs.
func (s *liveSession) sendEvent(e session.Event) {
	if e.Seq > s.replayEnd { // the transcript cannot include it
		clear(s.items.replayed)
	}
	// Note what the session costs; a request that is no turn has a cost, too.
	cost := s.info.Cost
	s.info.Apply(e.Data)
	switch d := e.Data.(type) {
	case *session.AgentSwitched:
		s.mu.Lock()
		s.choices.agent = d.Agent
		s.mu.Unlock()
	case *session.ModelSwitched:
		s.mu.Lock()
		s.setModel(d.Model)
		s.mu.Unlock()
	case *session.StepStarted:
		s.sendAll(s.noteTurn(d))
		s.items.model = d.Model
	case *session.StepEnded:
		s.noteUsage(&d.Tokens)
		s.sendUsage()
	case *session.StepFailed:
		s.noteUsage(d.Tokens)
	}
	if _, hasEnded := e.Data.(*session.StepEnded); !hasEnded && s.info.Cost != cost {
		s.sendUsage()
	}
	// Send what a client shows of the event.
	for _, u := range s.items.applyEvent(e.Data) {
		if text, ok := u.(userText); ok {
			text.isOwn = s.isOwn(session.MessageID(text.messageID))
			u = text
		}
		s.send(u)
	}
}

// noteUsage notes how much a request took of the model's window; nil is unknown.
func (s *liveSession) noteUsage(t *session.Tokens) {
	if t != nil {
		s.used = t.Sum()
	}
}

func (s *liveSession) sendUsage() {
	model := session.ModelRef{ID: s.items.model.ID, ProviderID: s.items.model.ProviderID}
	s.send(usage{s.used, s.windows[model], s.info.Cost})
}

// noteTurn notes the agent and the model of a turn and returns what is other than the client knows.
func (s *liveSession) noteTurn(d *session.StepStarted) (changed []update) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Subtasks {
		return nil
	}
	if s.choices.agent != d.Agent && d.Agent != "" {
		s.choices.agent, changed = d.Agent, append(changed, agentChanged{d.Agent})
	}
	if s.choices.model != d.Model.String() || s.choices.effort != cmp.Or(d.Model.Variant, defaultEffort) {
		s.setModel(d.Model)
		changed = append(changed, modelChanged{})
	}
	return changed
}
