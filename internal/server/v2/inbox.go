package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// inboxHandlers lists and changes the prompts that wait for their promotion.
type inboxHandlers struct{ *dependencies }

// publicInput returns an admitted prompt as a client sees it.
func publicInput(i *session.Input, all allFields) session.Input {
	c := *i
	if !all {
		c.Order, c.Asks, c.Hold, c.NoReply, c.Recovery, c.Restricted = 0, "", false, false, "", false
	}
	return c
}

func (h inboxHandlers) list(ctx context.Context, in sessionIn) (api.Data[[]*session.Input], error) {
	pending, err := h.Inbox.ListPending(ctx, in.SessionID)
	return newData(append([]*session.Input{}, pending...)), err
}

func (h inboxHandlers) reorderPrompts(ctx context.Context, in bodyOf[api.InboxOrder]) (operation.None, error) {
	return operation.None{}, httpio.WithPart("body", h.Inbox.ReorderPrompts(ctx, in.SessionID, in.Body.MessageIDs))
}

// inputIn is a request about one pending prompt.
type inputIn struct {
	sessionIn
	MessageID session.MessageID `path:"messageID"`
}

// update edits a pending prompt, or changes its delivery, or both.
func (h inboxHandlers) update(ctx context.Context, in struct {
	inputIn
	Body api.InputPatch `body:"required"`
},
) (none operation.None, err error) {
	if in.Body.Prompt == nil && in.Body.Delivery == "" {
		return none, httpio.NewInvalid("body", "", "the body must have prompt, or delivery, or both")
	}
	c := admit.PromptChange{Prompt: in.Body.Prompt, Delivery: in.Body.Delivery}
	return none, httpio.WithPart("body", h.Inbox.ChangePrompt(ctx, in.SessionID, in.MessageID, c))
}

func (h inboxHandlers) withdrawPrompt(ctx context.Context, in inputIn) (operation.None, error) {
	return operation.None{}, h.Inbox.WithdrawPrompt(ctx, in.SessionID, in.MessageID)
}
