package v1

import (
	"context"
	"errors"

	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
)

// summaryRequest is the body of session.summarize. With Auto the model goes on after the summary.
type summaryRequest struct {
	ProviderID string `json:"providerID"`
	ModelID    string `json:"modelID"`
	Auto       bool   `json:"auto,omitzero"`
}

// Validate requires the members that OpenCode requires.
func (b *summaryRequest) Validate() error {
	return requireMembers("providerID", b.ProviderID, "modelID", b.ModelID)
}

// summarizeSession admits a request for a compaction and answers once the session is idle. Like OpenCode it answers
// true even if the summary failed: the streams have the error.
func (h promptHandlers) summarizeSession(ctx context.Context, in struct {
	sessionIn
	Body summaryRequest `body:"required"`
},
) (bool, error) {
	if _, err := store.ReadSession(ctx, h.Store, in.SessionID); err != nil {
		return false, err
	}
	_, err := h.Commands.AdmitCompaction(ctx, admit.CompactionAdmission{
		SessionID: in.SessionID, Request: session.CompactionRequest{
			Model:   &session.ModelRef{ID: in.Body.ModelID, ProviderID: in.Body.ProviderID},
			Proceed: in.Body.Auto,
		},
		SkipEmpty: true, // nothing is announced of a summary that is not written
	})
	if err != nil {
		err = inBody(err)
		if e, ok := errors.AsType[*session.Error](err); ok && e.Field == "model" {
			e.Field = "modelID"
		}
		return false, err
	}
	return true, h.waitUntilIdle(ctx, in.SessionID)
}
