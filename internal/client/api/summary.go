package api

import (
	"context"
	"net/http"

	"github.com/cairn-dev/cairn/internal/session"
)

// Summaries reads and changes the summaries of sessions in prose.
type Summaries struct{ Client *Client }

// SetText sets the summary of the session in a user's words; no text removes it.
func (x Summaries) SetText(ctx context.Context, id session.ID, text string) error {
	_, err := x.Client.Update(ctx, id, SessionPatch{Summary: &text})
	return err
}

// UpdateSummary returns the summary of the session, nil if there is nothing to summarise. A model brings it up to date
// first; a user's summary stays as it is.
func (x Summaries) UpdateSummary(ctx context.Context, id session.ID) (*session.ProseSummary, error) {
	var out Data[*session.ProseSummary]
	err := x.Client.sendCall(ctx, call{
		method: http.MethodPost, path: apiPath("session", string(id), "summary"),
		out: &out,
	})
	return out.Data, err
}
