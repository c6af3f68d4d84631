package v1

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// Shares publishes sessions.
type Shares interface {
	Share(ctx context.Context, id session.ID, r api.ShareRequest) (api.Share, error)
	Unshare(ctx context.Context, id session.ID) (api.Withdrawal, error)
}

// shareHandlers publishes sessions.
type shareHandlers struct{ sessionHandlers }

func (h shareHandlers) share(ctx context.Context, in sessionIn) (opencode.Session, error) {
	if _, err := h.Shares.Share(ctx, in.SessionID, api.ShareRequest{}); err != nil {
		return opencode.Session{}, err
	}
	return h.get(ctx, in)
}

func (h shareHandlers) unshare(ctx context.Context, in sessionIn) (opencode.Session, error) {
	out, err := h.Shares.Unshare(ctx, in.SessionID)
	if err == nil && !out.Gone { // an answer without an error would tell people that nobody can read it
		err = session.Errorf(session.CodeConflict, "the share is not gone yet, and tried again: %s", out.Failure)
	}
	if err != nil {
		return opencode.Session{}, err
	}
	return h.get(ctx, in)
}
