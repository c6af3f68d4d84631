package v1

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// Shares shares sessions and revokes their shares.
type Shares interface {
	Share(ctx context.Context, id session.ID, r api.ShareRequest) (api.Share, error)
	Revoke(ctx context.Context, id session.ID) (api.Revocation, error)
}

// shareHandlers has the operations that share a session and revoke its share.
type shareHandlers struct{ sessions sessionHandlers }

func (h shareHandlers) share(ctx context.Context, in sessionIn) (opencode.Session, error) {
	if _, err := h.sessions.Shares.Share(ctx, in.SessionID, api.ShareRequest{}); err != nil {
		return opencode.Session{}, err
	}
	return h.sessions.get(ctx, in)
}

func (h shareHandlers) unshare(ctx context.Context, in sessionIn) (opencode.Session, error) {
	out, err := h.sessions.Shares.Revoke(ctx, in.SessionID)
	if err == nil && !out.Revoked { // a success would tell the user that the session can no longer be read
		err = session.Errorf(session.CodeConflict, "the revocation of the share of session %q is not complete: %s; cairn retries for 30 days", in.SessionID, out.Failure)
	}
	if err != nil {
		return opencode.Session{}, err
	}
	return h.sessions.get(ctx, in)
}
