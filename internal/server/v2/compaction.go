package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// compact admits a request for a compaction.
func (h sessionHandlers) compact(ctx context.Context, in struct {
	sessionIn
	Body api.CompactRequest `body:"optional"`
},
) (out api.Data[api.CompactionItem], err error) {
	b := in.Body
	admitted, err := h.Inbox.AdmitCompaction(ctx, admit.CompactionAdmission{
		SessionID: in.SessionID, ID: b.ID, Delivery: b.Delivery,
		Request: session.CompactionRequest{Instructions: b.Instructions, Model: b.Model},
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return newData(api.NewCompactionItem(admitted)), nil
}

// undoCompaction undoes the newest compaction.
func (h sessionHandlers) undoCompaction(ctx context.Context, in sessionIn) (operation.None, error) {
	return operation.None{}, h.Inbox.UndoCompaction(ctx, in.SessionID)
}
