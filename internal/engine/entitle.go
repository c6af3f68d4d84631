package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// titleAgent is the agent that says how sessions are called. A location that has none of the name asks nobody.
const titleAgent = "title"

// What asking for a title may take. Whatever goes wrong, the session is then named after its prompt.
const (
	titleTime      = time.Minute // with all attempts
	titleAttempts  = 3
	maxSaidTitle   = 100      // characters
	maxTitleSpeech = 16 << 10 // bytes of an answer that are looked at
)

// titleQuestion is what the agent is asked, behind its own prompt and before the first prompt of the session.
const titleQuestion = "Write the title of the conversation that begins with this message:"

// titlerOf returns the model that is asked how the session is called; nil where it has a name, works for another session,
// or nobody is worth asking.
func (d *drain) titlerOf(set *setting) *location.Model {
	a, ok := set.scope.Agents[titleAgent]
	if !ok || set.scope.Small == nil || !unnamed(set.session) {
		return nil
	}
	m, err := set.scope.ResolveModel(set.session.Model, set.agent)
	if err != nil { // the turn says so
		return nil
	}
	ref, ok := set.scope.Small(m.Ref)
	if !ok {
		return nil
	}
	if a.Model != nil {
		ref = *a.Model
	}
	m, err = set.scope.Models.Resolve(ref, a)
	if err != nil {
		d.logger.Debug("no model for titles", "session", d.id, "model", ref, "error", err)
		return nil
	}
	return m
}

// entitle asks beside the turn how the session is called, unless somebody is being asked already. Nothing waits for it. It
// begins before the turn does, so that the title is mostly there when the answer comes.
func (d *drain) entitle(ctx context.Context, set *setting, promotion session.Delivery) {
	first, err := d.firstPrompt(ctx, promotion)
	if err != nil || first == nil {
		return // the turn says so
	}
	q := entitlement{id: d.id, model: d.titler, first: first, system: set.scope.Agents[titleAgent].System, excluded: set.session.Excluded}
	d.titles.start(d.id, func(ctx context.Context) { d.name(ctx, q) })
}

// firstPrompt returns the session's first prompt, or else the one that is promoted next; nil if there is none.
func (d *drain) firstPrompt(ctx context.Context, promotion session.Delivery) (first *session.User, err error) {
	err = d.store.View(ctx, func(r store.Reader) error {
		ms, err := store.ReadMessages(r, d.id, store.MessageQuery{After: -1, Limit: 8})
		if err != nil {
			return err
		}
		for _, m := range ms {
			if u, ok := m.(*session.User); ok {
				first = u
				return nil
			}
		}
		ins, err := d.chosen(r, promotion)
		if err == nil && len(ins) > 0 {
			first, _ = session.Begin(&session.Prompted{MessageID: ins[0].ID, Prompt: ins[0].Prompt}, 0).(*session.User)
		}
		return err
	})
	return first, err
}

// entitlement is the question how a session is called.
type entitlement struct {
	id       session.ID
	model    *location.Model
	system   string
	first    *session.User
	excluded []session.Exclusion // of the first prompt; see poison.go
}

// spared is the question without pictures and documents, if it has some and the provider refuses it: a title is about what
// was said.
func (q entitlement) spared(e *llm.Error) (entitlement, bool) {
	refused := e.Class == llm.InvalidRequest || e.Class == llm.Overflow
	sent, before := q.request().Messages, len(q.excluded)
	for _, kind := range []session.ContentKind{session.ContentImages, session.ContentDocuments} {
		if refused && history.HasContent(sent, kind) {
			q.excluded = append(q.excluded[:len(q.excluded):len(q.excluded)], session.Exclusion{Kind: kind, Through: q.first.Seq})
		}
	}
	return q, len(q.excluded) > before
}

func (q entitlement) request() *llm.Request {
	m := q.model
	req := &llm.Request{
		Model: m.APIName, Generate: m.Generate, Options: m.Options, Body: m.Body, Headers: m.Headers, Clocks: m.Clocks,
		CacheKey: history.CacheKey(q.id), Session: string(q.id),
	}
	if system := history.JoinParagraphs(q.system, m.System); system != "" {
		req.System = []string{system}
	}
	req.Messages = append(req.Messages, llm.Message{Role: llm.RoleUser, Parts: history.TextParts(titleQuestion)})
	req.Messages = append(req.Messages, history.Lower([]session.Message{q.first}, m, q.excluded...)...)
	return req
}

// name gives the session the title that the model says, else one made of its first prompt, and records what the asking
// cost. What somebody called it meanwhile stays.
func (e *Engine) name(ctx context.Context, q entitlement) {
	title, asked := e.askTitle(ctx, q)
	if errors.Is(context.Cause(ctx), cause.ErrCancelled) { // nobody wants to know any more
		return
	}
	if title == "" {
		title = titleOf(q.first.Text)
	}
	_, err := e.log.Append(context.WithoutCancel(ctx), q.id, store.Relaxed, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := journal.FindSession(tx, q.id)
		if err != nil || asked == nil && (title == "" || !unnamed(s)) {
			return nil, err
		}
		if title == "" {
			title = s.Title
		}
		return eventlog.Drafts(&session.Renamed{Title: title, By: "auto", Asked: asked}), nil
	})
	if err != nil {
		e.logger.Warn("a title could not be kept", "session", q.id, "error", err)
	}
}

// askTitle asks until somebody says something. Asked is nil if nothing is known to have been used.
func (e *Engine) askTitle(ctx context.Context, q entitlement) (title string, asked *session.Asked) {
	ctx, cancel := context.WithTimeout(ctx, titleTime)
	defer cancel()
	bounds := e.limits
	bounds.Attempts = titleAttempts
	var tries ledger
	for {
		said, used, err := e.sayTitle(ctx, q)
		asked = q.add(asked, used)
		if err == nil {
			return said, asked
		}
		failure := llm.AsError(ctx, err)
		wait, again := tries.next(failure, false, bounds, e.now())
		e.logger.Debug("a title was not said", "session", q.id, "model", q.model.Ref, "again", again, "error", failure)
		if less, ok := q.spared(failure); ok {
			q = less
			continue
		}
		if !again {
			return "", asked
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", asked
		case <-timer.C:
		}
	}
}

// add adds what an attempt used.
func (q entitlement) add(a *session.Asked, u *llm.Usage) *session.Asked {
	if u == nil {
		return a
	}
	if a == nil {
		a = &session.Asked{Model: q.model.Ref}
	}
	a.Tokens = a.Tokens.Add(record.TokensOf(*u))
	if q.model.Cost != nil {
		a.Cost += q.model.Cost(*u)
	}
	return a
}

// sayTitle makes one attempt. A panic of the client is its failure.
func (e *Engine) sayTitle(ctx context.Context, q entitlement) (title string, used *llm.Usage, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.logger.Error("a model's client panicked", "session", q.id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the model's client broke down: %v", p)
		}
	}()
	var b strings.Builder
	for ev, err := range q.model.Client.Stream(ctx, q.request()) {
		if err != nil {
			return "", llm.AsError(ctx, err).Usage, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			b.WriteString(ev.Delta[:min(len(ev.Delta), maxTitleSpeech-b.Len())])
		case llm.Finish:
			used = &ev.Usage
		}
	}
	return saidTitle(b.String()), used, nil
}

var thought = regexp.MustCompile(`(?s)<think>.*?(?:</think>|$)`)

// saidTitle is the title in an answer: its first line that says something, without what was thought aloud.
func saidTitle(answer string) string {
	title := firstLine(thought.ReplaceAllString(strings.ToValidUTF8(answer, ""), ""))
	if len(title) > maxSaidTitle {
		return string(title[:maxSaidTitle-3]) + "..."
	}
	return string(title)
}

// titleDesk holds the questions that are being asked, one per session.
type titleDesk struct {
	wg sync.WaitGroup

	mu     sync.Mutex // guards asking, closed
	asking map[session.ID]context.CancelCauseFunc
	closed bool
}

// start asks, unless somebody does already.
func (t *titleDesk) start(id session.ID, ask func(context.Context)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.asking[id] != nil {
		return
	}
	if t.asking == nil {
		t.asking = map[session.ID]context.CancelCauseFunc{}
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	t.asking[id] = cancel
	t.wg.Go(func() {
		defer t.leave(id)
		ask(ctx)
	})
}

func (t *titleDesk) leave(id session.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.asking[id](nil)
	delete(t.asking, id)
}

// cancel asks no more about the session.
func (t *titleDesk) cancel(id session.ID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if stop := t.asking[id]; stop != nil {
		stop(cause.ErrCancelled)
	}
}

// end asks nothing more, and waits until what is known by now is recorded, or ctx ends.
func (t *titleDesk) end(ctx context.Context) error {
	t.mu.Lock()
	t.closed = true
	for _, stop := range t.asking {
		stop(cause.ErrShutdown)
	}
	t.mu.Unlock()
	return awaitAll(ctx, &t.wg)
}
