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
// the client, until it is closed.
type liveSession struct {
	agent     *agent
	client    *api.Client // its location is the session's directory
	id        session.ID
	directory string
	windows   map[session.ModelRef]int64 // the context windows of models, in tokens
	prompts   chan *promptWork           // to be followed
	asks      sync.WaitGroup             // asks and reads of buffers

	mu       sync.Mutex // guards the rest
	choices  sessionChoices
	offers   []api.Model
	starting []*promptWork      // prompts of this client that are not followed yet
	working  []*promptWork      // prompts of this client whose work is not over
	cancel   context.CancelFunc // stops following; nil before start
	done     chan struct{}      // closed when it is not followed any more; nil before start
	head     int64              // seq of the newest event that the client has

	pending map[session.AskID]context.CancelFunc // asks that were put to the client; of the goroutine that follows
	items   *itemTracker                         // of the goroutine that follows, and of replay before it
	spent   session.USD                          // likewise
}

// newLiveSession reads what a client shows of a session beside its messages.
func newLiveSession(ctx context.Context, a *agent, found *session.Session) (*liveSession, error) {
	c := at(a.options.Client, found.Location.Directory)
	s := &liveSession{
		agent: a, client: c, id: found.ID, directory: found.Location.Directory, prompts: make(chan *promptWork),
		windows: map[session.ModelRef]int64{}, items: newItemTracker(found.Location.Directory), spent: found.Cost,
		pending: map[session.AskID]context.CancelFunc{},
	}
	var err error
	if s.head, err = c.Head(ctx, found.ID); err != nil {
		return nil, err
	}
	location, err := c.Location(ctx)
	if err != nil {
		return nil, err
	}
	agents, err := c.Agents(ctx)
	if err != nil {
		return nil, err
	}
	models, err := c.Models(ctx)
	if err != nil {
		return nil, err
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
	return s, nil
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

// start begins to follow the session, behind what the client has of it.
func (s *liveSession) start() {
	ctx, cancel := context.WithCancel(s.agent.life)
	s.mu.Lock()
	s.cancel, s.done = cancel, make(chan struct{})
	s.mu.Unlock()
	s.agent.following.Go(func() {
		defer close(s.done)
		defer s.asks.Wait()
		defer cancel()
		if s.agent.features.readFile {
			s.asks.Go(func() { s.serveBuffers(ctx) })
		}
		s.sendCommands(ctx)
		s.run(ctx)
	})
}

// stop stops following the session.
func (s *liveSession) stop() {
	s.mu.Lock()
	cancel, done := s.cancel, s.done
	s.mu.Unlock()
	if cancel != nil {
		cancel()
		<-done
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
	// Ask what waits for an answer already.
	pending, err := follow.PendingAsks(ctx, s.client, s.id)
	if err == nil {
		for _, ask := range pending {
			s.ask(ctx, ask)
		}
	}
	w := follow.Start(ctx, s.client, s.id, follow.Options{After: s.head, Tasks: true, Notes: true, Output: true})
	defer w.Stop()
	for {
		select {
		case <-ctx.Done():
			s.endPrompts(errClosed)
			return
		case p := <-s.prompts:
			s.mu.Lock()
			s.working = append(s.working, p)
			s.mu.Unlock()
			w.ExpectIdle()
		case u, ok := <-w.C:
			if !ok || u.End != nil {
				s.endPrompts(cmp.Or(u.End, error(errClosed)))
				if ok {
					s.send(notice{"the session cannot be followed any more", u.End.Error()})
				}
				return
			}
			s.handle(ctx, w, u)
		}
	}
}

// handle sends an update, and settles the prompts whose work is over.
func (s *liveSession) handle(ctx context.Context, w *follow.Watch, u follow.Update) {
	switch {
	case u.Event != nil:
		s.sendEvent(*u.Event)
		s.handleAsk(ctx, u.Event.Data)
	case u.Fragment != nil:
		s.sendAll(s.items.applyFragment(*u.Fragment))
	case u.Output != nil:
		s.sendAll(s.items.applyOutput(*u.Output))
	case u.Note != nil && u.Note.SessionID == s.id:
		s.send(notice{u.Note.Source, u.Note.Text})
	case u.Task != nil:
		s.handleAsk(ctx, u.Task.Data)
	}
	results := s.settlePrompts(ctx, w, u)
	if u.Idle && !s.hasWork() {
		s.send(newIdle(results))
	}
}

// newIdle returns the state of an idle session, with how the work of the newest prompt ended.
func newIdle(results []promptResult) stateChanged {
	out := stateChanged{state: stateIdle, stop: stopEnd}
	for _, r := range results {
		if out.stop = r.stop; r.err != nil {
			out.why = describeError(r.err).Message
		}
	}
	return out
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
		if s.noteTurn(d) {
			s.send(modelChanged{})
		}
		s.items.model = d.Model
	case *session.StepEnded:
		s.spent += d.Cost
		s.send(usage{d.Tokens.Sum(), s.windows[session.ModelRef{ID: s.items.model.ID, ProviderID: s.items.model.ProviderID}], s.spent})
	}
	for _, u := range s.items.applyEvent(e.Data) {
		if text, ok := u.(userText); ok {
			text.isOwn = s.hasPrompt(session.MessageID(text.messageID))
			u = text
		}
		s.send(u)
	}
}

// hasPrompt reports whether this client has sent the prompt.
func (s *liveSession) hasPrompt(id session.MessageID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(slices.Concat(s.starting, s.working), func(p *promptWork) bool { return p.id == id })
}

// noteTurn notes the agent and the model of a turn and reports whether they are others than the client knows.
func (s *liveSession) noteTurn(d *session.StepStarted) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.Subtasks {
		return false
	}
	if s.choices.agent != d.Agent && d.Agent != "" {
		s.choices.agent, changed = d.Agent, true
	}
	if s.choices.model != d.Model.String() || s.choices.effort != cmp.Or(d.Model.Variant, defaultEffort) {
		s.setModel(d.Model)
		changed = true
	}
	return changed
}
