package compaction

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/engine/history"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/engine/turnlog"
	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/session"
)

// modelTask is a text that a model writes beside the turns of a session: a summary or a title. Its requests have no
// tools. When to try again is decided by what needs the text.
type modelTask struct {
	sessionID session.ID
	model     *scope.Model
	system    string // of the agent that writes
	logger    *slog.Logger
	used      *session.RequestCost // by all attempts so far; nil if that is unknown
}

// Answer is the answer of a model to a task.
type Answer struct {
	Text     string
	ToolCall bool
	Finish   llm.FinishReason
}

// checkEnd returns an error for an answer without an end: it is incomplete, whatever it says.
func (a Answer) checkEnd(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if a.Finish == "" {
		return &llm.Error{Class: llm.Incomplete, Message: "the model's answer ended before it was complete"}
	}
	return nil
}

// buildRequest returns a request with the messages.
func (k *modelTask) buildRequest(ms ...llm.Message) *llm.Request {
	m := k.model
	req := &llm.Request{
		Model: m.APIName, Generate: m.Generate, Options: m.Options, Body: m.Body, Headers: m.Headers, Clocks: m.Clocks,
		CacheKey: history.CacheKey(k.sessionID), Session: string(k.sessionID), Messages: ms,
	}
	if system := history.JoinParagraphs(k.system, m.System); system != "" {
		req.System = []string{system}
	}
	return req
}

// attempt sends the request and collects at most limit bytes of the text, which it passes to publish as it comes; nil is
// allowed. It adds what the request used, also if it fails. A panic of the client is its failure.
func (k *modelTask) attempt(
	ctx context.Context, req *llm.Request, limit int, publish func(string),
) (answer Answer, err error) {
	var used *llm.Usage
	defer func() {
		if p := recover(); p != nil {
			k.logger.Error("a model's client panicked", "session", k.sessionID, "panic", p, "stack", string(debug.Stack()))
			err = fmt.Errorf("the model's client panicked: %v", p)
		}
		k.addUsage(used)
	}()
	// Collect the text as it comes. What the request used is known at its end, or from the error.
	var b strings.Builder
	for ev, err := range k.model.Client.Stream(ctx, req) {
		if err != nil {
			used = llm.AsError(ctx, err).Usage
			return answer, err
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			delta := ev.Delta[:min(len(ev.Delta), limit-b.Len())]
			b.WriteString(delta)
			if publish != nil && delta != "" {
				publish(delta)
			}
		case llm.ToolCallEvent:
			answer.ToolCall = true
		case llm.Finish:
			used, answer.Finish = &ev.Usage, ev.Reason
		}
	}
	answer.Text = b.String()
	return answer, nil
}

func (k *modelTask) addUsage(u *llm.Usage) {
	if u == nil {
		return
	}
	if k.used == nil {
		k.used = &session.RequestCost{Model: k.model.Ref}
	}
	cost, tokens := turnlog.PriceOf(k.model.Cost, *u)
	k.used.Cost, k.used.Tokens = k.used.Cost+cost, k.used.Tokens.Add(tokens)
}

// sleep waits before the next attempt. It returns the cause if ctx ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
