package ask

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// applyDecided returns what the decision of extensions about the call makes of the effect of the rules: an ask where the
// rules allow, or no ask where the user lets the extension allow. Deny stays, as does what a person has to answer.
func (a *Asks) applyDecided(ctx context.Context, by Asker, r tool.Request, effect session.Effect) session.Effect {
	if by.Call == nil || by.Call.Decided == nil || effect == session.Deny || r.Person {
		return effect
	}
	decided := by.Call.Decided
	if decided.Effect != session.Ask && decided.Effect != session.Allow || decided.Effect == effect {
		return effect
	}
	if !a.auditDecision(ctx, decided.By, r, decided.Effect) {
		return session.Ask
	}
	return decided.Effect
}

// consultExtensions shows the request to the extensions and returns the effect that they leave. The error is the denial,
// or the cause of ctx's end.
func (a *Asks) consultExtensions(
	ctx context.Context, by Asker, r tool.Request, effect session.Effect,
) (session.Effect, error) {
	if by.Call == nil {
		return effect, nil
	}
	// Show it.
	v := extension.Permission{
		SessionID: by.SessionID, MessageID: by.Call.MessageID, CallID: by.Call.ID, Agent: by.Agent,
		Tool: by.Call.Tool, Input: by.Call.Input, Action: r.Action,
		Resources: r.Resources, Metadata: r.Metadata, Effect: effect,
	}
	names, err := by.Extensions.Permission(ctx, &v)
	if failure, ok := errors.AsType[*extension.Error](err); ok {
		names, v.Effect, v.Reason = []string{failure.Extension}, session.Deny, failure.Err.Error()
	} else if err != nil || v.Effect == effect {
		return effect, err
	}
	// Record what they decided. What only people may answer is not allowed for them.
	if r.Person && v.Effect == session.Allow {
		return effect, nil
	}
	recorded := a.auditDecision(ctx, names, r, v.Effect)
	switch {
	case v.Effect == session.Deny:
		text := "the extension " + strings.Join(names, ", ") + " denied it"
		if v.Reason != "" {
			text += ": " + v.Reason
		}
		return session.Deny, &tool.Denial{Action: r.Action, Resources: r.Resources, Feedback: text, ByPolicy: true}
	case !recorded:
		return session.Ask, nil
	}
	return v.Effect, nil
}

// auditDecision records a decision of extensions. It reports whether that succeeded: nothing is allowed without.
func (a *Asks) auditDecision(ctx context.Context, names []string, r tool.Request, effect session.Effect) bool {
	what := fmt.Sprintf("the extension %s decided %q for %s %v", strings.Join(names, ", "), effect, r.Action, r.Resources)
	err := a.journal.Audit.AddEntry(context.WithoutCancel(ctx), audit.KindApproval, what)
	if err != nil {
		a.journal.Logger.Error("the decision of an extension cannot be recorded", "error", err)
	}
	return err == nil
}

// notifyAsked tells the extensions that the work waits for a person.
func (a *Asks) notifyAsked(by Asker, asked session.PendingAsk) {
	cause, text := extension.CausePermission, "cairn needs your permission for "+asked.Action
	if asked.Action == tool.ActionQuestion {
		cause, text = extension.CauseQuestion, "cairn has a question for you"
	}
	by.Extensions.Notify(&a.journal.Events, extension.Event{
		Type: extension.EventAsked, SessionID: by.SessionID, Agent: by.Agent, Cause: cause, Text: text,
	})
}
