package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/cause"
	"github.com/cairn-dev/cairn/internal/engine/command"
	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/journal"
	"github.com/cairn-dev/cairn/internal/engine/location"
	"github.com/cairn-dev/cairn/internal/engine/record"
	"github.com/cairn-dev/cairn/internal/eventlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// titleAgent is the agent that generates titles. A location without it takes titles from prompts.
const titleAgent = "title"

// Bounds of generating a title. If it fails, the title is taken from the prompt.
const (
	titleTimeout     = time.Minute // of all attempts together
	titleAttempts    = 3
	maxModelTitle    = 100      // characters
	maxTitleResponse = 16 << 10 // bytes of the answer that are read
)

// titleQuestion is what the model reads before the first prompt of the session.
const titleQuestion = "Write the title of the conversation that begins with this message:"

// titleModel returns the model that generates the session's title. It is nil if the session has a name or is another
// session's child, or if the location has no model or agent for titles.
func (d *drain) titleModel(in *turnInput) *location.Model {
	a, ok := in.scope.Agents[titleAgent]
	if !ok || in.scope.Small == nil || !command.IsUntitled(in.session) {
		return nil
	}
	m, err := in.scope.ResolveModel(in.session.Model, in.agent)
	if err != nil { // the turn fails for it
		return nil
	}
	ref, ok := in.scope.Small(m.Ref)
	if !ok {
		return nil
	}
	if a.Model != nil {
		ref = *a.Model
	}
	m, err = in.scope.Models.Resolve(ref, a)
	if err != nil {
		d.engine.logger.Debug("no model for titles", "session", d.id, "model", ref, "error", err)
		return nil
	}
	return m
}

// startTitle generates the session's title concurrently with the turn, unless that is under way. Nothing waits for it.
// It starts before the turn, so that the title is mostly there when the answer comes.
func (d *drain) startTitle(in *turnInput, m *location.Model, first *session.User) {
	q := titleRequest{
		id: d.id, model: m, first: first, system: in.scope.Agents[titleAgent].System, excluded: in.session.Excluded,
	}
	d.engine.titles.start(d.id, func(ctx context.Context) { d.engine.generateTitle(ctx, q) })
}

// titleRequest asks a model for the title of a session.
type titleRequest struct {
	id       session.ID
	model    *location.Model
	system   string
	first    *session.User       // the prompt
	excluded []session.Exclusion // of the prompt
}

// withoutMedia returns the request without images and documents, and true, if it has some and the provider rejected it.
func (q titleRequest) withoutMedia(e *llm.Error) (titleRequest, bool) {
	rejected := e.Class == llm.InvalidRequest || e.Class == llm.Overflow
	sent, before := q.build().Messages, len(q.excluded)
	for _, kind := range []session.ContentKind{session.ContentImages, session.ContentDocuments} {
		if rejected && history.HasContent(sent, kind) {
			x := session.Exclusion{Kind: kind, Through: q.first.Seq}
			q.excluded = append(q.excluded[:len(q.excluded):len(q.excluded)], x)
		}
	}
	return q, len(q.excluded) > before
}

func (q titleRequest) build() *llm.Request {
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

// addUsage adds the tokens and the cost of an attempt.
func (q titleRequest) addUsage(a *session.Asked, u *llm.Usage) *session.Asked {
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

// generateTitle names the session as the model suggests, else after its prompt, and records the usage. A name that the
// session got meanwhile stays.
func (e *Engine) generateTitle(ctx context.Context, q titleRequest) {
	title, used := e.requestTitle(ctx, q)
	if errors.Is(context.Cause(ctx), cause.ErrCancelled) { // the session is deleted
		return
	}
	if title == "" {
		title = titleFromText(q.first.Text)
	}
	if err := e.recordTitle(context.WithoutCancel(ctx), q.id, title, used); err != nil {
		e.logger.Warn("the title could not be stored", "session", q.id, "error", err)
	}
}

func (e *Engine) recordTitle(ctx context.Context, id session.ID, title string, used *session.Asked) error {
	_, err := e.journal.Log.Append(ctx, id, store.Relaxed, func(tx store.Tx) ([]eventlog.Draft, error) {
		s, err := journal.FindSession(tx, id)
		if err != nil || used == nil && (title == "" || !command.IsUntitled(s)) {
			return nil, err
		}
		if title == "" {
			title = s.Title
		}
		return eventlog.NewDrafts(&session.Renamed{Title: title, By: "auto", Request: used}), nil
	})
	return err
}

// requestTitle tries until the model answers. used is nil if no usage is known.
func (e *Engine) requestTitle(ctx context.Context, q titleRequest) (title string, used *session.Asked) {
	ctx, cancel := context.WithTimeout(ctx, titleTimeout)
	defer cancel()
	limits := e.limits
	limits.Attempts = titleAttempts
	var retries retryState
	for {
		title, usage, err := e.streamTitle(ctx, q)
		used = q.addUsage(used, usage)
		if err == nil {
			return title, used
		}
		failure := llm.AsError(ctx, err)
		wait, again := retries.Next(failure, false, limits, e.journal.Now())
		e.logger.Debug("generating a title failed",
			"session", q.id, "model", q.model.Ref, "again", again, "error", failure)
		if reduced, ok := q.withoutMedia(failure); ok {
			q = reduced
			continue
		}
		if !again {
			return "", used
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return "", used
		case <-timer.C:
		}
	}
}

// streamTitle makes one attempt. A panic of the client is its failure.
func (e *Engine) streamTitle(ctx context.Context, q titleRequest) (title string, used *llm.Usage, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.logger.Error("a model's client panicked", "session", q.id, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the model's client panicked: %v", p)
		}
	}()
	var b strings.Builder
	for ev, err := range q.model.Client.Stream(ctx, q.build()) {
		if err != nil {
			return "", llm.AsError(ctx, err).Usage, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			b.WriteString(ev.Delta[:min(len(ev.Delta), maxTitleResponse-b.Len())])
		case llm.Finish:
			used = &ev.Usage
		}
	}
	return titleFromAnswer(b.String()), used, nil
}

var thinkBlock = regexp.MustCompile(`(?s)<think>.*?(?:</think>|$)`)

// titleFromAnswer returns the first line with text of an answer, without blocks of thinking.
func titleFromAnswer(answer string) string {
	title := firstLine(thinkBlock.ReplaceAllString(strings.ToValidUTF8(answer, ""), ""))
	if len(title) > maxModelTitle {
		return string(title[:maxModelTitle-3]) + "..."
	}
	return string(title)
}
