package v1

import (
	"context"
	"reflect"
	"slices"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// partIn is a request about one part.
type partIn struct {
	messageIn
	PartID session.PartID `path:"partID"`
}

// delete removes a message from the history, or a pending prompt from the inbox.
func (h messageHandlers) delete(ctx context.Context, in messageIn) (bool, error) {
	if _, err := h.get(ctx, in); err != nil {
		return false, err
	}
	row, err := store.Query(ctx, h.Store, func(rd store.Reader) (session.Message, error) {
		return findRow(rd, in.SessionID, in.MessageID)
	})
	if err != nil {
		return false, err
	}
	if row != nil {
		in.MessageID = row.Meta().ID // a shell command is deleted with its answer, a summary with its request
	}
	return true, h.Commands.RemoveMessage(ctx, in.SessionID, in.MessageID)
}

// findPart reads a part.
func (h messageHandlers) findPart(ctx context.Context, in partIn) (opencode.Part, error) {
	m, err := h.get(ctx, in.messageIn)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(m.Parts, func(p opencode.Part) bool { return opencode.PartID(p) == in.PartID })
	if i < 0 {
		return nil, session.NotFound("part", string(in.PartID))
	}
	return m.Parts[i], nil
}

func (h messageHandlers) deletePart(ctx context.Context, in partIn) (bool, error) {
	p, err := h.findPart(ctx, in)
	if err != nil {
		return false, err
	}
	return true, h.editPart(ctx, in, p, nil)
}

// partChange is the body of part.update.
type partChange opencode.PartChange

// DocumentType implements operation.Documented.
func (partChange) DocumentType() reflect.Type { return reflect.TypeFor[opencode.Part]() }

func (h messageHandlers) updatePart(ctx context.Context, in struct {
	partIn
	Body partChange `body:"required"`
},
) (opencode.Part, error) {
	p, err := h.findPart(ctx, in.partIn)
	if err != nil {
		return nil, err
	}
	change := opencode.PartChange(in.Body)
	if err := change.Check(p); err != nil {
		return nil, httpio.WithPart("body", err)
	}
	if err := h.editPart(ctx, in.partIn, p, &change.PartInput); err != nil {
		return nil, err
	}
	return h.findPart(ctx, in.partIn)
}

// editPart changes a part, or removes it if to is nil.
func (h messageHandlers) editPart(ctx context.Context, in partIn, p opencode.Part, to *opencode.PartInput) error {
	u, err := store.Query(ctx, h.Store, func(rd store.Reader) (*session.User, error) {
		return readPrompt(rd, in.SessionID, in.MessageID)
	})
	if err != nil {
		return err
	}
	// A part of a prompt is replaced with the whole prompt.
	if u != nil {
		prompt, err := opencode.SplitPrompt(u, in.PartID, to)
		if err != nil {
			return httpio.WithPart("body", err)
		}
		err = h.Commands.EditPrompt(ctx, in.SessionID, in.MessageID, in.PartID, prompt)
		err = opencode.TranslateErrorPath(err, prompt, func(_ int, member string) string { return member })
		return httpio.WithPart("body", err)
	}
	// A part of an answer is removed, or gets another text.
	switch p.(type) {
	case *opencode.TextPart, *opencode.ReasoningPart, *opencode.ToolPart:
	default:
		return httpio.NewInvalid("params", "partID", "this part cannot be edited: it is no text, reasoning or tool call")
	}
	if to == nil {
		return h.Commands.RemovePart(ctx, in.SessionID, in.MessageID, in.PartID)
	}
	text := ""
	if to.Text != nil {
		text = *to.Text
	}
	return httpio.WithPart("body", h.Commands.EditPart(ctx, in.SessionID, in.MessageID, in.PartID, text))
}

// readPrompt returns a prompt of the history or a pending one, nil if the message is no prompt.
func readPrompt(rd store.Reader, id session.ID, m session.MessageID) (*session.User, error) {
	in, ok, err := store.FindInput(rd, m)
	if err != nil {
		return nil, err
	}
	if ok && in.SessionID == id && in.PromotedSeq == nil && in.Compaction == nil {
		return opencode.InputMessage(in), nil
	}
	stored, _, err := store.FindMessage(rd, id, m)
	u, _ := stored.(*session.User)
	return u, err
}
