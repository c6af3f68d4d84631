package acp

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/follow"
	"github.com/cairn-dev/cairn/internal/session"
)

// promptWork is the work on a prompt of this client.
type promptWork struct {
	follow.Work
	id        session.MessageID
	done      chan promptResult // capacity 1
	cancelled chan struct{}     // closed when the client cancels it
}

// promptResult is how the work came out.
type promptResult struct {
	stop stopReason
	err  error
}

// errNotOpen is the error of work that ends because its session is closed.
var errNotOpen = errors.New("the session was closed")

// prompt begins a prompt. It returns before a later message of the client is read, so that a cancel finds the prompt.
func (a *agent) prompt(params jsontext.Value) func(context.Context) (any, error) {
	var r v2.PromptRequest
	err := decodeParams(params, &r)
	var s *liveSession
	if err == nil {
		s, err = a.find(params)
	}
	if err != nil {
		return result(nil, err)
	}
	p := &promptWork{id: session.MessageID(a.ids.New(session.PrefixMessage)), done: make(chan promptResult, 1), cancelled: make(chan struct{})}
	s.mu.Lock()
	s.starting = append(s.starting, p)
	s.mu.Unlock()
	return func(ctx context.Context) (any, error) {
		defer s.forget(p)
		if err := s.begin(ctx, p, r.Prompt); err != nil {
			return nil, err
		}
		if a.currentDialect().answersAtOnce() {
			return v2.PromptResponse{MessageID: string(p.Request.ID)}, nil
		}
		return s.await(ctx, p)
	}
}

// begin admits the prompt and has its work followed.
func (s *liveSession) begin(ctx context.Context, p *promptWork, content []v2.ContentBlock) error {
	prompt, err := s.newPrompt(ctx, content)
	if err != nil {
		return err
	}
	head, err := s.client.Head(ctx, s.id)
	if err != nil {
		return err
	}
	select {
	case <-p.cancelled:
		p.done <- promptResult{stop: stopCancelled}
		return nil
	default:
	}
	p.Client, p.ID = s.client, s.id
	p.Request = api.PromptRequest{
		ID: p.id, Prompt: prompt, Delivery: session.Steer,
	}
	if _, err := s.client.Prompt(ctx, s.id, p.Request); err != nil {
		return err
	}
	p.Progress = follow.NewProgress(p.Request.ID, head)
	s.mu.Lock()
	done := s.done
	s.mu.Unlock()
	select {
	case s.prompts <- p:
		return nil
	case <-done:
		return errNotOpen
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// await returns the result of session/prompt when the work is over. A request that the client cancels stops the work.
func (s *liveSession) await(ctx context.Context, p *promptWork) (any, error) {
	select {
	case r := <-p.done:
		if r.err != nil {
			return nil, r.err
		}
		return map[string]stopReason{"stopReason": r.stop}, nil
	case <-ctx.Done():
		if errors.Is(context.Cause(ctx), errCancelled) {
			stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
			defer cancel()
			s.cancelPrompts(stopping)
		}
		return nil, context.Cause(ctx)
	}
}

// forget drops a prompt that has begun, or failed to.
func (s *liveSession) forget(p *promptWork) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.starting {
		if one == p {
			s.starting = append(s.starting[:i:i], s.starting[i+1:]...)
			return
		}
	}
}

// settlePrompts applies an update to the prompts at work, and answers those whose work is over. It returns how that
// came out.
func (s *liveSession) settlePrompts(ctx context.Context, w *follow.Watch, u follow.Update) (over []promptResult) {
	s.mu.Lock()
	working := s.working
	s.mu.Unlock()
	var left []*promptWork
	for _, p := range working {
		if isOver, err := s.applyTo(ctx, w, p, u); isOver || err != nil {
			r := p.result(err)
			over = append(over, r)
			p.done <- r
			continue
		}
		left = append(left, p)
	}
	if len(left) != len(working) {
		s.mu.Lock()
		s.working = left
		s.mu.Unlock()
	}
	return over
}

// hasWork reports whether a prompt of this client is at work.
func (s *liveSession) hasWork() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.working) > 0
}

// applyTo applies an update to the work on a prompt and reports whether that is over.
func (s *liveSession) applyTo(ctx context.Context, w *follow.Watch, p *promptWork, u follow.Update) (bool, error) {
	switch {
	case u.Event != nil:
		p.Progress.Apply(*u.Event)
	case u.Task != nil && p.Progress.IsUnderWay():
		p.Progress.ApplyAsk(u.Task.Data)
	case u.Idle && p.IsDone():
		return true, nil
	case u.Idle || u.Found: // the process that worked has ended
		if err := p.Resume(ctx); err != nil {
			return true, err
		}
		w.ExpectIdle()
	}
	return p.Progress.Over || p.Progress.Withdrawn, nil
}

// result returns how the work came out. What a person ended is not an error.
func (p *promptWork) result(err error) promptResult {
	if err != nil {
		return promptResult{err: err}
	}
	failure := p.Progress.Failure
	switch {
	case p.Progress.Withdrawn, failure != nil && failure.Reason == session.ReasonAborted:
		return promptResult{stop: stopCancelled}
	case failure == nil && p.Progress.Finish == "length":
		return promptResult{stop: stopLength}
	case failure == nil && p.Progress.Finish == "content-filter",
		failure != nil && failure.Reason == session.ReasonContentFilter:
		return promptResult{stop: stopRefused}
	case failure == nil:
		return promptResult{stop: stopEnd}
	case failure.Reason == session.ReasonSteps, failure.Reason == session.ReasonBudget:
		return promptResult{stop: stopTurns}
	case failure.Reason == session.ReasonDenied: // a person has declined
		return promptResult{stop: stopEnd}
	case failure.Reason == session.ReasonAuth, failure.Reason == session.ReasonModel:
		return promptResult{err: rpcErrorf(codeAuthRequired, "%s", failure.Message)}
	default:
		return promptResult{err: rpcErrorf(codeInternal, "%s", failure.Message)}
	}
}

// cancelPrompts withdraws the prompts of this client that have not begun, and stops the work on the others.
func (s *liveSession) cancelPrompts(ctx context.Context) {
	s.mu.Lock()
	starting, working := s.starting, s.working
	for _, p := range starting {
		select {
		case <-p.cancelled:
		default:
			close(p.cancelled)
		}
	}
	s.mu.Unlock()
	interrupts := false
	for _, p := range working {
		_ = follow.RepeatUntilAnswered(ctx, func() error {
			err := s.client.Inbox().Withdraw(ctx, s.id, p.Request.ID)
			interrupts = interrupts || err != nil // it was promoted
			return err
		})
	}
	if interrupts {
		_ = follow.RepeatUntilAnswered(ctx, func() error { return s.client.Interrupt(ctx, s.id) }) // the work goes on then
	}
}

// endPrompts answers the prompts at work with an error.
func (s *liveSession) endPrompts(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range s.working {
		p.done <- promptResult{err: why}
	}
	s.working = nil
}

// newPrompt makes a prompt of content. A first word /NAME of a command is expanded.
func (s *liveSession) newPrompt(ctx context.Context, content []v2.ContentBlock) (*session.Prompt, error) {
	prompt := &session.Prompt{}
	var texts []string
	for _, b := range content {
		switch b.Type {
		case "text":
			texts = append(texts, b.Text)
		case "image", "audio":
			prompt.Files = append(prompt.Files, session.File{
				URI: "data:" + b.MimeType + ";base64," + b.Data, Mime: b.MimeType, Name: nameOf(b.URI, b.Name),
			})
		case "resource_link":
			prompt.Files = append(prompt.Files, session.File{URI: b.URI, Mime: b.MimeType, Name: nameOf(b.URI, b.Name)})
		case "resource":
			r := b.Resource
			file := session.File{Mime: r.MimeType, Name: nameOf(r.URI, "")}
			if r.Blob != "" {
				file.URI = "data:" + r.MimeType + ";base64," + r.Blob
			} else {
				file.Mime = "text/plain"
				file.URI = "data:text/plain," + url.PathEscape(r.Text)
			}
			prompt.Files = append(prompt.Files, file)
		default:
			return nil, rpcErrorf(codeInvalidParams, "content of the type %q is not known", b.Type)
		}
	}
	prompt.Text = strings.Join(texts, "\n")
	name, arguments, _ := strings.Cut(strings.TrimPrefix(prompt.Text, "/"), " ")
	if !strings.HasPrefix(prompt.Text, "/") || name == "" {
		return prompt, nil
	}
	// A text that begins with a slash and is no command stays a text.
	x, err := s.client.Expand(ctx, api.ExpandRequest{Command: name, Arguments: arguments, SessionID: s.id})
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return prompt, nil
	}
	if err != nil {
		return nil, err
	}
	x.Prompt.Files = append(x.Prompt.Files, prompt.Files...)
	return &x.Prompt, nil
}

// nameOf returns the name of a file, the last element of its URI without one.
func nameOf(uri, name string) string {
	if name != "" {
		return name
	}
	if u, err := url.Parse(uri); err == nil && u.Path != "" {
		return u.Path[strings.LastIndex(u.Path, "/")+1:]
	}
	return uri
}
