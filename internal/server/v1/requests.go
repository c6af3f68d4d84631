package v1

import (
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// locationIn is a request about a location.
type locationIn struct{ Location operation.Location }

// locationBody is a request about a location with a body.
type locationBody[Body any] struct {
	locationIn
	Body Body `body:"required"`
}

// sessionIn is a request about one session.
type sessionIn struct {
	SessionID session.ID `path:"sessionID"`
}

// messageIn is a request about one message.
type messageIn struct {
	sessionIn
	MessageID session.MessageID `path:"messageID"`
}
