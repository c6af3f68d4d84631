package v2

import (
	"cmp"
	"context"
	"net/http"
	"strconv"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/engine/undo"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// revertHandlers take sessions back, and say what they changed in files.
type revertHandlers struct{ *dependencies }

// stageRevert takes a session back to after a message, and restores the files that it wrote later.
func (h revertHandlers) stageRevert(ctx context.Context, in struct {
	sessionIn
	All  allFields
	Body api.RevertRequest `body:"required"`
},
) (out api.Data[session.Revert], err error) {
	b := in.Body
	if b.MessageID == "" && !b.Before {
		return out, httpio.NewInvalid("body", "messageID", "messageID is missing")
	}
	if b.Files != nil && !*b.Files && b.Messages != nil && !*b.Messages {
		return out, httpio.NewInvalid("body", "files", "files and messages cannot both be false")
	}
	t := undo.Target{Before: b.Before, Point: undo.Point{
		MessageID: b.MessageID, PartID: b.PartID, Force: b.Force,
		Files: b.Files == nil || *b.Files, Messages: b.Messages == nil || *b.Messages,
	}}
	run := h.Reverts.StageRevert
	if b.Preview {
		run = h.Reverts.PlanRevert
	}
	staged, err := run(ctx, in.SessionID, t)
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return newData(*publicRevert(staged, in.All)), nil
}

// forkSession copies the session up to a message, which is not copied.
func (h revertHandlers) forkSession(ctx context.Context, in struct {
	sessionIn
	All  allFields
	Body api.ForkRequest `body:"optional"`
},
) (out api.Data[session.Session], err error) {
	b := in.Body
	before := cmp.Or(b.Before, b.MessageID)
	switch {
	case b.MessageID != "" && b.MessageID != before:
		return out, httpio.NewInvalid("body", "messageID", "messageID and before are two names of one message")
	case before == "" && b.PartID != "":
		return out, httpio.NewInvalid("body", "before", "before is missing: the message of partID")
	}
	s, err := h.Reverts.ForkSession(ctx, in.SessionID, admit.CopyEnd{Before: before, PartID: b.PartID})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return newData(publicSession(s, in.All)), nil
}

// clearRevert takes the staged revert back.
func (h revertHandlers) clearRevert(ctx context.Context, in sessionIn) (operation.None, error) {
	_, err := h.Reverts.ClearRevert(ctx, in.SessionID)
	return operation.None{}, err
}

// commitRevert removes the messages of the staged revert.
func (h revertHandlers) commitRevert(ctx context.Context, in sessionIn) (operation.None, error) {
	return operation.None{}, h.Reverts.CommitRevert(ctx, in.SessionID)
}

// recoverFiles brings back the files of the newest committed revert.
func (h revertHandlers) recoverFiles(ctx context.Context, in sessionIn) (out api.Data[undo.Recovery], err error) {
	recovered, err := h.Reverts.RecoverFiles(ctx, in.SessionID)
	if err != nil {
		return out, err
	}
	return newData(*recovered), nil
}

// maxDiffBytes bounds the patches of a response, and of each file in it.
const maxDiffBytes = 4 << 20

// wholeSession reports whether a client asks about the whole session, and not about one prompt.
type wholeSession bool

// DecodeRequest implements operation.Decoder.
func (s *wholeSession) DecodeRequest(r *http.Request) error {
	switch v := r.URL.Query().Get("whole"); v {
	case "1", "true":
		*s = true
	case "", "0", "false":
	default:
		return httpio.NewInvalid("query", "whole", "whole must be true or false")
	}
	return nil
}

// listDiffs lists what the answers to a prompt changed, by default to the newest one; or what differs
// from the files of another session. Patches beyond 4 MiB are left out.
func (h revertHandlers) listDiffs(ctx context.Context, in struct {
	sessionIn
	From    session.MessageID `query:"from"`
	To      session.MessageID `query:"to"`
	Context string            `query:"context"`
	Whole   wholeSession      `query:"whole"`
	Against session.ID        `query:"against"`
},
) (out api.SessionDiff, err error) {
	f := undo.DiffFormat{Git: true, Limits: undo.PatchLimits{File: maxDiffBytes, All: maxDiffBytes}}
	if in.Context != "" {
		n, err := strconv.ParseUint(in.Context, 10, 31)
		if err != nil {
			return out, httpio.NewInvalid("query", "context", "context must be a number of lines")
		}
		f.Context = new(int(n))
	}
	diff, err := h.Reverts.ReadDiff(ctx, in.SessionID, undo.DiffQuery{
		From: in.From, To: in.To, Newest: !bool(in.Whole), Against: in.Against, Format: f,
	})
	out = api.SessionDiff{Data: append([]session.ChangedFile{}, diff.Files...), Unknown: diff.Unknown}
	return out, httpio.WithPart("query", err)
}
