package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// entryOperations set what clients add to the system context of a session, below cairn's path and OpenCode 2.0's.
func (h sessionHandlers) entryOperations() (out []operation.Operation) {
	for _, at := range []struct{ path, name string }{
		{sessionPath + "/context-entry", "context entry"},
		{"/api/experimental/session/{sessionID}/instructions/entries", "instruction entry"},
	} {
		out = append(
			out,
			operation.New("read GET "+at.path+" List each "+at.name+" of a session", "", h.listEntries),
			operation.New("prompt PUT "+at.path+"/{key} Set one "+at.name+" of a session", "", h.putEntry),
			operation.New("prompt DELETE "+at.path+"/{key} Remove one "+at.name+" of a session", "", h.deleteEntry),
		)
	}
	return out
}

// entryIn is a request about one entry.
type entryIn struct {
	sessionIn
	Key string `path:"key"`
}

func (h sessionHandlers) listEntries(
	ctx context.Context, in sessionIn,
) (out api.Data[[]session.ContextEntry], err error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return out, err
	}
	return newData(append([]session.ContextEntry{}, s.Entries...)), nil
}

func (h sessionHandlers) putEntry(ctx context.Context, in struct {
	entryIn
	Body api.ContextEntryRequest `body:"required"`
},
) (out operation.None, err error) {
	if len(in.Body.Value) == 0 {
		return out, httpio.NewInvalid("body", "value", "value is missing: it must be a JSON value other than null")
	}
	return out, h.Commands.SetContextEntry(
		ctx,
		in.SessionID,
		session.ContextEntry{Key: in.Key, Value: in.Body.Value},
		in.Body.New,
	)
}

func (h sessionHandlers) deleteEntry(ctx context.Context, in entryIn) (operation.None, error) {
	return operation.None{}, h.Commands.SetContextEntry(ctx, in.SessionID, session.ContextEntry{Key: in.Key}, false)
}
