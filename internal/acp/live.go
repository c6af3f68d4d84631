package acp

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// liveSession is a session that a client has opened: what happens in it is sent to the client, and what it asks is put to
// the client, until it is closed. One goroutine follows it, and owns what is marked so; others have it act with do.
type liveSession struct {
	agent     *agent
	client    *api.Client // its location is the session's directory
	id        session.ID
	directory string
	windows   map[session.ModelRef]int64 // the context windows of models, in tokens
	offers    []api.Model
	acts      chan func(*follow.Watch) // for the goroutine that follows
	done      chan struct{}            // closed when the session is not followed any more
	asks      sync.WaitGroup           // asks, reads of buffers, and commands

	cancelling sync.Mutex // held while the work is being stopped

	mu           sync.Mutex // guards the rest, but for what is of the goroutine that follows
	choices      sessionChoices
	prompts      []*promptWork      // of this client, until their work is over
	cancel       context.CancelFunc // stops following; nil before start
	isClosed     bool
	lastPlace    chan struct{} // of the newest request that changes the session
	cancelQueued bool          // a cancel has not begun yet

	// Of the goroutine that follows, and of the request that opens the session before it.
	head        follow.State // what the client has of the session
	jobs        []session.Job
	seq         int64 // of the newest event
	working     []*promptWork
	state       workState
	idleWaiters []chan struct{}
	pending     map[session.AskID]putAsk  // asks that were put to the client
	shown       map[session.PartID]string // tools of calls of subagents that were shown because of an ask
	items       *itemTracker
	spent       session.USD
}

// openSession reads what a client shows of a session beside its messages.
func openSession(ctx context.Context, a *agent, found *session.Session) (*liveSession, error) {
	c := at(a.options.Client, found.Location.Directory)
	s := &liveSession{
		agent: a, client: c, id: found.ID, directory: found.Location.Directory, windows: map[session.ModelRef]int64{},
		acts: make(chan func(*follow.Watch)), done: make(chan struct{}), state: newWorkState(),
		pending: map[session.AskID]putAsk{}, shown: map[session.PartID]string{},
		items: newItemTracker(found.Location.Directory), spent: found.Cost,
	}
	// Where the session is: what happens from here on is followed.
	var err error
	if s.head, err = follow.ReadState(ctx, c, found.ID); err != nil {
		return nil, err
	}
	s.seq = s.head.Head
	if s.jobs, err = c.Jobs().List(ctx, found.ID); err != nil {
		return nil, err
	}
	for _, j := range s.jobs {
		if j.Status == session.JobRunning {
			s.state.noteTask(s.id, &session.JobStarted{Job: j})
		}
	}
	return s, s.readChoices(ctx, found)
}

// readChoices reads the agents and models of the session's directory.
func (s *liveSession) readChoices(ctx context.Context, found *session.Session) error {
	location, err := s.client.Location(ctx)
	if err != nil {
		return err
	}
	agents, err := s.client.Agents(ctx)
	if err != nil {
		return err
	}
	models, err := s.client.Models(ctx)
	if err != nil {
		return err
	}
	// Agents, those that a person can choose.
	for _, one := range agents.Data {
		if one.IsSelectable() {
			s.choices.agents = append(s.choices.agents, choice{one.ID, one.ID, one.Description})
		}
	}
	if s.choices.agent = found.Agent; s.choices.agent == "" && len(s.choices.agents) > 0 {
		s.choices.agent = s.choices.agents[0].id
	}
	// Models, with the efforts of the one that is selected.
	s.offers = models.Data
	for _, m := range models.Data {
		s.windows[m.Ref()] = m.Limit.Context
		s.choices.models = append(s.choices.models, choice{m.Ref().String(), m.Name, ""})
	}
	if selected := cmp.Or(found.Model, location.Model); selected != nil {
		s.setModel(*selected)
	}
	return nil
}

// setModel notes the selected model, and the efforts that it has. The caller holds mu, or is the only one.
func (s *liveSession) setModel(ref session.ModelRef) {
	s.choices.model, s.choices.efforts = ref.String(), nil
	s.choices.effort = cmp.Or(ref.Variant, defaultEffort)
	if !slices.ContainsFunc(s.choices.models, func(c choice) bool { return c.id == s.choices.model }) {
		s.choices.models = append(s.choices.models, choice{id: s.choices.model, name: s.choices.model})
	}
	for _, m := range s.offers {
		if m.Ref().String() == s.choices.model && len(m.Variants) > 0 {
			s.choices.efforts = []choice{{id: defaultEffort, name: "Default"}}
			for _, v := range m.Variants {
				s.choices.efforts = append(s.choices.efforts, choice{id: v.ID, name: v.ID})
			}
		}
	}
}

// defaultEffort is the variant of a model without one.
const defaultEffort = "default"

func (s *liveSession) currentChoices() sessionChoices {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.choices
}

// choose selects the value of an option, for the next turn.
func (s *liveSession) choose(ctx context.Context, option, value string) error {
	now := s.currentChoices()
	for _, o := range now.list() {
		if o.id != option {
			continue
		}
		if !slices.ContainsFunc(o.values, func(c choice) bool { return c.id == value }) {
			return rpcErrorf(codeInvalidParams, "the option %s has no value %q", option, value)
		}
		if option == optionAgent {
			if err := s.client.SwitchAgent(ctx, s.id, value); err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.choices.agent = value
			return nil
		}
		name, effort := now.model, value
		if option == optionModel {
			name, effort = value, ""
		}
		provider, model, _ := strings.Cut(name, "/")
		ref := session.ModelRef{ProviderID: provider, ID: model, Variant: strings.TrimPrefix(effort, defaultEffort)}
		if err := s.client.SwitchModel(ctx, s.id, ref); err != nil {
			return err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.setModel(ref)
		return nil
	}
	return rpcErrorf(codeInvalidParams, "there is no option %q with a choice", option)
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
	s.agent.following.Go(func() {
		defer close(s.done)
		defer s.asks.Wait()
		defer cancel()
		if s.agent.features.readFile {
			s.asks.Go(func() { s.serveBuffers(ctx) })
		}
		s.asks.Go(func() { s.sendCommands(ctx) })
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

// do has the goroutine that follows the session act, and waits until it has begun to.
func (s *liveSession) do(ctx context.Context, act func(*follow.Watch)) error {
	acted := make(chan struct{})
	select {
	case s.acts <- func(w *follow.Watch) { defer close(acted); act(w) }:
		<-acted
		return nil
	case <-s.done:
		return errNotOpen
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// send sends an update to the client.
func (s *liveSession) send(u update) {
	for _, params := range s.agent.currentDialect().update(s.id, u, s.currentChoices()) {
		s.agent.conn.notify("session/update", params)
	}
}

// sendCommands sends the commands of the directory. Without them the client offers none.
func (s *liveSession) sendCommands(ctx context.Context) {
	list, err := s.client.Commands(ctx)
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

// run sends what happens until ctx ends or the session cannot be followed.
func (s *liveSession) run(ctx context.Context) {
	w := follow.Start(ctx, s.client, s.id, follow.Options{
		After: s.head.Head, Tasks: true, Newest: s.head.Newest, Jobs: s.jobs, Notes: true, Output: true,
	})
	defer w.Stop()
	// Put the asks that wait already, and expect the end of work that goes on already.
	for _, a := range s.head.Asks {
		s.putAsk(ctx, a)
	}
	if s.state.working {
		w.ExpectIdle()
	}
	for {
		select {
		case <-ctx.Done():
			s.endPrompts(errNotOpen)
			return
		case act := <-s.acts:
			act(w)
		case u, ok := <-w.C:
			if !ok || u.End != nil {
				s.endPrompts(cmp.Or(u.End, error(errNotOpen)))
				if ok {
					s.send(notice{"the session cannot be followed any more", u.End.Error()})
				}
				return
			}
			s.handle(ctx, w, u)
		}
	}
}

// handle sends an update, settles the prompts whose work is over, and tells the state of the work.
func (s *liveSession) handle(ctx context.Context, w *follow.Watch, u follow.Update) {
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
	case u.Note != nil && u.Note.SessionID == s.id:
		s.send(notice{u.Note.Source, u.Note.Text})
	case u.Task != nil:
		s.state.noteTask(u.Task.SessionID, u.Task.Data)
		s.handleAsk(ctx, u.Task.Data)
		s.handleTaskCall(u.Task.Data)
	case u.Found:
		s.asks.Go(func() { s.agent.restoreServers(ctx) })
	}
	results := s.settlePrompts(ctx, w, u)
	isExpected := slices.ContainsFunc(s.working, func(p *promptWork) bool { return p.isExpected })
	if u.Idle && !isExpected {
		s.state.working = false
	}
	s.tellState(results)
	s.releaseWaiters()
}

// tellFirstState tells the client the state of a session that it opens again.
func (s *liveSession) tellFirstState(ctx context.Context) error {
	active, err := s.client.Active(ctx)
	if err != nil {
		return err
	}
	s.state.working = active[s.id].Type == api.TypeRunning
	for _, a := range s.head.Asks {
		s.state.noteAsk(a)
	}
	s.state.told = s.state.name()
	s.send(stateChanged{state: s.state.told})
	return nil
}

func (s *liveSession) sendAll(updates []update) {
	for _, u := range updates {
		s.send(u)
	}
}

// sendEvent sends what an event changes, and notes choices and costs.
func (s *liveSession) sendEvent(e session.Event) {
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
		s.spent += d.Cost
		s.send(usage{d.Tokens.Sum(), s.windows[session.ModelRef{ID: s.items.model.ID, ProviderID: s.items.model.ProviderID}], s.spent})
	}
	for _, u := range s.items.applyEvent(e.Data) {
		if text, ok := u.(userText); ok {
			text.isOwn = s.isOwn(session.MessageID(text.messageID))
			u = text
		}
		s.send(u)
	}
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
