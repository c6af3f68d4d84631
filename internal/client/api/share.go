package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/cairn-dev/cairn/internal/session"
)

// ShareRequest says how a session is published.
type ShareRequest struct {
	Expires int64 `json:"expires,omitzero"` // milliseconds from now; 0 is as configured
}

// The bounds of the time of a share.
const (
	MinShareTime = time.Minute
	MaxShareTime = 100 * 365 * 24 * time.Hour
)

// Share is a published session, or one that is to be published or withdrawn.
type Share struct {
	ID        string     `json:"id"`
	SessionID session.ID `json:"sessionID"`
	URL       string     `json:"url,omitzero"`    // "" until the server has answered
	Target    string     `json:"target,omitzero"` // address of the server; "" if cairn share serve shows the session
	State     ShareState `json:"state" enum:"pending,active,withdrawing,abandoned"`
	Created   int64      `json:"created"`          // milliseconds
	Expires   int64      `json:"expires,omitzero"` // milliseconds; 0 is never
	Auto      bool       `json:"auto,omitzero"`    // nobody asked for it
	// Failure is why the last attempt at the server failed.
	Failure string `json:"failure,omitzero"`
}

// ShareState is the state of a share.
type ShareState string

// The states. A share that is withdrawn, and of which its server has shown that, is in no list.
const (
	SharePending     ShareState = "pending"     // the server has not answered
	ShareActive      ShareState = "active"      // who knows the address can read the session
	ShareWithdrawing ShareState = "withdrawing" // the server has not shown that it is gone; it is tried again
	ShareAbandoned   ShareState = "abandoned"   // as withdrawing, and nothing tries it any more
)

// ShareSession publishes a session.
func (c *Client) ShareSession(ctx context.Context, id session.ID, r ShareRequest) (Share, error) {
	var out Data[Share]
	err := c.sendCall(ctx, call{method: http.MethodPost, path: apiPath("session", string(id), "share"), in: r, out: &out})
	return out.Data, err
}

// Withdrawal is the state of a share that was withdrawn.
type Withdrawal struct {
	Gone    bool   `json:"gone"`             // nobody can read the session any more; else it is tried again
	Failure string `json:"failure,omitzero"` // why the server has not shown that it is gone
}

// UnshareSession withdraws the share of a session. One that is not shared stays so.
func (c *Client) UnshareSession(ctx context.Context, id session.ID) (Withdrawal, error) {
	var out Data[Withdrawal]
	err := c.sendCall(ctx, call{method: http.MethodDelete, path: apiPath("session", string(id), "share"), out: &out})
	return out.Data, err
}

// Replacement is what leaves a session only in another form, of one kind.
type Replacement struct {
	Kind  string `json:"kind"` // "looks like a secret", or of a sanitised export the name of a member of a session or a message
	Count int    `json:"count"`
	// Excerpt is the beginning of the first one, without what looks like a secret.
	Excerpt string `json:"excerpt,omitzero"`
}

// SharePreview is what of a session is replaced before it is published.
type SharePreview struct {
	Replacements []Replacement `json:"replacements"`
	Page         string        `json:"page"` // the session as a page, as it would be published
}

// PreviewShare returns what of a session is replaced before it is published.
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

// FindShare returns the share with the id.
func (c *Client) FindShare(ctx context.Context, id string) (Share, error) {
	var out Data[Share]
	err := c.sendCall(ctx, call{method: http.MethodGet, path: apiPath("share", id), out: &out})
	return out.Data, err
}
