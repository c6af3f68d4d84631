package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// Editors asks clients for texts of files that they have not saved.
type Editors interface {
	// Next waits for a read of the session, or of its subagents, up to a bound; the zero value is none. Each editor of a
	// session, which its name tells from the others, gets all reads.
	Next(ctx context.Context, id session.ID, name string) (api.EditorRead, error)
	// Answer answers a read.
	Answer(id session.ID, read string, text api.EditorText) error
}

// editorHandlers has the operations of editors.
type editorHandlers struct{ *dependencies }

// listEditorOperations returns the operations of editors.
func (d *dependencies) listEditorOperations() []operation.Operation {
	h := editorHandlers{d}
	return []operation.Operation{
		operation.New("prompt POST "+sessionPath+"/editor/read Wait for a read of a file that an editor may not have saved",
			"", h.next),
		operation.New("prompt POST "+sessionPath+"/editor/read/{readID} Answer a read with the text of the editor",
			"", h.answer),
	}
}

func (h editorHandlers) next(ctx context.Context, in struct {
	sessionIn
	Editor string `query:"editor"`
},
) (api.Data[api.EditorRead], error) {
	if _, err := store.ReadSession(ctx, h.Store, in.SessionID); err != nil {
		return api.Data[api.EditorRead]{}, err
	}
	long, end := h.long.Start(ctx, "")
	defer end()
	out, err := h.Editors.Next(long, in.SessionID, in.Editor)
	return newData(out), err
}

func (h editorHandlers) answer(_ context.Context, in struct {
	SessionID session.ID     `path:"sessionID"`
	ReadID    string         `path:"readID"`
	Body      api.EditorText `body:"required"`
},
) (operation.None, error) {
	return operation.None{}, h.Editors.Answer(in.SessionID, in.ReadID, in.Body)
}
