package v1

import (
	"context"
	"errors"
	"net/http"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionMove is a request for a session to go on in another directory.
type sessionMove struct {
	SessionID   session.ID  `json:"sessionID"`
	Destination destination `json:"destination"`
	MoveChanges bool        `json:"moveChanges,omitzero"`
}

type destination struct {
	Directory string `json:"directory"`
}

// Validate requires the members that OpenCode requires.
func (b *sessionMove) Validate() error {
	return requireMembers("sessionID", string(b.SessionID), "destination.directory", b.Destination.Directory)
}

// move moves the session within its project, as OpenCode does. A session that cannot move is an error with OpenCode's
// status and name.
func (h sessionHandlers) move(ctx context.Context, in body[sessionMove]) (none operation.None, err error) {
	err = h.Commands.MoveSession(ctx, admit.MoveRequest{
		SessionID: in.Body.SessionID, Directory: in.Body.Destination.Directory, Changes: in.Body.MoveChanges,
	})
	if e, ok := errors.AsType[*session.Error](err); ok && (e.Code == session.CodeConflict || e.Code == session.CodeInvalid) {
		return none, &statusError{http.StatusBadRequest, newNamedError("MoveSessionError", e.Error())}
	}
	return none, err
}
