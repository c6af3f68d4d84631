package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// ShareRequest says how a session is shared.
type ShareRequest struct {
	Expires int64 `json:"expires,omitzero"` // milliseconds from now; 0 is as configured
}

// The bounds of ShareRequest.Expires.
const (
	MinShareTime = time.Minute
	MaxShareTime = 100 * 365 * 24 * time.Hour
)

// Share is a shared session, or one whose share is pending or being revoked.
type Share struct {
	ID        string     `json:"id"`
	SessionID session.ID `json:"sessionID"`
	URL       string     `json:"url,omitzero"`    // "" until the server has answered
	Target    string     `json:"target,omitzero"` // address of the server; "" if cairn share serve shows the session
	State     ShareState `json:"state" enum:"pending,active,revoking,abandoned"`
	Created   int64      `json:"created"`          // milliseconds
	Expires   int64      `json:"expires,omitzero"` // milliseconds; 0 is never
	Auto      bool       `json:"auto,omitzero"`    // made by the setting share: auto
	// Failure is why the last attempt at the server failed.
	Failure string `json:"failure,omitzero"`
}

// ShareState is the state of a share.
type ShareState string

// The states. A share is removed from the list once its server has confirmed that it is revoked.
const (
	SharePending   ShareState = "pending"   // the server has not answered
	ShareActive    ShareState = "active"    // anyone with the address can read the session
	ShareRevoking  ShareState = "revoking"  // the server has not confirmed the deletion; cairn retries
	ShareAbandoned ShareState = "abandoned" // as revoking, and cairn has stopped retrying
)

// ShareSession shares a session.
func (c *Client) ShareSession(ctx context.Context, id session.ID, r ShareRequest) (Share, error) {
	var out Data[Share]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session", string(id), "share"), in: r, out: &out})
	return out.Data, err
}

// Revocation is the result of revoking a share.
type Revocation struct {
	Revoked bool   `json:"revoked"`          // the session can no longer be read; if false, cairn retries
	Failure string `json:"failure,omitzero"` // why the server has not confirmed the deletion
}

// RevokeShare revokes the share of a session. It does nothing for a session that is not shared.
func (c *Client) RevokeShare(ctx context.Context, id session.ID) (Revocation, error) {
	var out Data[Revocation]
	err := c.sendCall(ctx, call{method: http.MethodDelete, path: apiPath("session", string(id), "share"), out: &out})
	return out.Data, err
}

// Replacement counts the texts of one kind that sharing or exporting replaces.
type Replacement struct {
	Kind  string `json:"kind"` // "looks like a secret", or of a sanitised export the name of a member of a session or a message
	Count int    `json:"count"`
	// Excerpt is the beginning of the first one, without what looks like a secret.
	Excerpt string `json:"excerpt,omitzero"`
}

// SharePreview shows what is replaced before a session is shared.
type SharePreview struct {
	Replacements []Replacement `json:"replacements"`
	// Items are the values that would be uploaded to the share server, or the session and its messages of a page, without
	// what is replaced.
	Items []jsontext.Value `json:"items,omitzero"`
}

// PreviewShare returns what is replaced before the session is shared.
func (c *Client) PreviewShare(ctx context.Context, id session.ID) (SharePreview, error) {
	out, err := get[Data[SharePreview]](ctx, c, apiPath("session", string(id), "share", "preview"), nil)
	return out.Data, err
}

// ReadSharePage calls read with the page of a share, which grows while the session goes on.
func (c *Client) ReadSharePage(ctx context.Context, id string, read func(io.Reader) error) error {
	resp, err := c.send(ctx, call{method: http.MethodGet, path: apiPath("share", id, "page")})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return read(resp.Body)
}

// Shares lists the shares, in the order of their creation.
func (c *Client) Shares(ctx context.Context) ([]Share, error) {
	var out Data[[]Share]
	err := c.sendCall(ctx, call{method: http.MethodGet, path: apiPath("share"), out: &out})
	return out.Data, err
}

// FindShare returns the active share with the id; otherwise the error is not found.
func (c *Client) FindShare(ctx context.Context, id string) (Share, error) {
	var out Data[Share]
	err := c.sendCall(ctx, call{method: http.MethodGet, path: apiPath("share", id), out: &out})
	return out.Data, err
}
