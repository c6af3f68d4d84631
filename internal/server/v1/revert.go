package v1

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// listDiffs lists what the answers to a prompt changed; without a prompt, what the session changed until now. As in
// OpenCode, an unknown session or message changed nothing.
func (h sessionHandlers) listDiffs(ctx context.Context, in struct {
	sessionIn
	MessageID session.MessageID `query:"messageID"`
},
) ([]opencode.FileDiff, error) {
	diff, err := h.Reverts.ReadDiff(ctx, in.SessionID, undo.DiffQuery{From: in.MessageID})
	if isNotFound(err) {
		return []opencode.FileDiff{}, nil
	}
	return opencode.FileDiffsOf(diff.Files), err
}

// revertSession takes the session back to before a message, with its files.
func (h sessionHandlers) revertSession(ctx context.Context, in struct {
	sessionIn
	Body opencode.RevertPoint `body:"required"`
},
) (opencode.Session, error) {
	if in.Body.MessageID == "" {
		return opencode.Session{}, missingMember("messageID")
	}
	staged, err := h.Reverts.StageRevert(ctx, in.SessionID, undo.Target{Before: true, Point: undo.Point{
		MessageID: in.Body.MessageID, PartID: in.Body.PartID, Messages: true, Files: true,
	}})
	if err != nil {
		return opencode.Session{}, err
	}
	return h.showRest(ctx, in.sessionIn, "Not everything was taken back", describeRest(staged))
}

// showRest returns the session, and shows the clients a warning unless the text is "".
func (h sessionHandlers) showRest(ctx context.Context, in sessionIn, title, text string) (opencode.Session, error) {
	s, err := h.get(ctx, in)
	if err == nil && text != "" {
		h.notices.Send(notice{s.Directory, s.ProjectID, kindToast, toast{Title: title, Message: &text, Variant: "warning"}})
	}
	return s, err
}

// maxRest bounds the files and calls that describeRest names.
const maxRest = 5

// describeRest returns what a revert does not restore, for people; "" if it restores everything.
func describeRest(r *session.Revert) string {
	var rest []string
	for _, f := range r.Files {
		if f.Reason != "" {
			rest = append(rest, string(f.Path)+": "+f.Reason)
		}
	}
	for _, k := range r.Kept {
		rest = append(rest, string(k.Path)+" stays as it is: "+k.Reason)
	}
	for _, text := range r.Unknown {
		rest = append(rest, "There may be more changes: "+text)
	}
	if more := len(rest) - maxRest; more > 0 {
		rest = append(rest[:maxRest], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(rest, "\n")
}

// forkSession copies the session up to a message, which is not copied.
func (h sessionHandlers) forkSession(ctx context.Context, in struct {
	sessionIn
	Body opencode.ForkPoint `body:"optional"`
},
) (opencode.Session, error) {
	s, err := h.Reverts.ForkSession(ctx, in.SessionID, admit.CopyEnd{Before: in.Body.MessageID})
	if err != nil {
		return opencode.Session{}, err
	}
	return opencode.SessionOf(s), nil
}

func isNotFound(err error) bool {
	return err != nil && httpio.PublicError(err).Code == session.CodeNotFound
}

// unrevertSession takes the revert back. A session that is not reverted stays as it is; one that works is a conflict.
func (h sessionHandlers) unrevertSession(ctx context.Context, in sessionIn) (opencode.Session, error) {
	if h.Runs.Status(in.SessionID).Type != engine.StatusIdle {
		return opencode.Session{}, session.Conflict("session", string(in.SessionID), "is working; interrupt it first")
	}
	kept, err := h.Reverts.ClearRevert(ctx, in.SessionID)
	if err != nil {
		return opencode.Session{}, err
	}
	rest := describeRest(&session.Revert{Kept: kept})
	return h.showRest(ctx, in, "Not everything was brought back", rest)
}
