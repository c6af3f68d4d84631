package follow

import (
	"errors"
	"time"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// ReconnectTimeout bounds the time that a client tries to restore a lost connection.
const ReconnectTimeout = time.Minute

// IsConnectionLost reports whether another connection may help. It does not help if the owner answers that its data is
// damaged.
func IsConnectionLost(err error) bool {
	if _, ok := errors.AsType[*api.TransportError](err); ok {
		return true
	}
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Code == session.CodeUnavailable && e.Kind != api.KindStore && e.Kind != api.KindDamaged
}

// IsDamaged reports whether a request was refused because the session's stored data is damaged.
func IsDamaged(err error) bool {
	e, ok := errors.AsType[*session.Error](err)
	return ok && e.Kind == api.KindDamaged
}
