package provider

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Copilot exchanges a GitHub token for the short-lived ones of GitHub Copilot. Accounts for which GitHub exchanges
// nothing use the GitHub token itself.
type Copilot struct {
	GitHub string // the token of a login at GitHub
	Client *http.Client
	API    string // of GitHub; "" is https://api.github.com
	Shared Shared // nil keeps what is fetched to itself

	mu      sync.Mutex // guards token and expires
	token   string
	expires time.Time
}

var _ Credential = (*Copilot)(nil)

// Authorize implements Credential.
func (c *Copilot) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	token, err := c.fresh(ctx, "")
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	return nil
}

// Renew implements Credential.
func (c *Copilot) Renew(ctx context.Context, refused *http.Request) (bool, error) {
	old := strings.TrimPrefix(refused.Header.Get("Authorization"), "Bearer ")
	token, err := c.fresh(ctx, old)
	return err == nil && token != old, err
}

func (c *Copilot) fresh(ctx context.Context, refused string) (string, error) {
	c.mu.Lock()
	token, expires := c.token, c.expires
	c.mu.Unlock()
	if token != "" && token != refused && time.Until(expires) > tokenMargin {
		return token, nil
	}
	token, expires, err := c.Shared.token(ctx, c.GitHub+"\n"+c.API, refused, c.exchange)
	if err != nil {
		return "", err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.token, c.expires = token, expires
	return token, nil
}

// unexchanged is how long a GitHub token is used itself before it is tried to exchange it again.
const unexchanged = 30 * time.Minute

func (c *Copilot) exchange(ctx context.Context) (string, time.Time, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, cmp.Or(c.API, "https://api.github.com")+"/copilot_internal/v2/token", nil)
	if err != nil {
		return "", time.Time{}, err
	}
	r.Header.Set("Authorization", "token "+c.GitHub)
	r.Header.Set("Accept", "application/json")
	resp, err := c.Client.Do(r)
	if err != nil {
		return "", time.Time{}, transportError(r.URL.Host, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil {
		return "", time.Time{}, transportError(r.URL.Host, err)
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return "", time.Time{}, fmt.Errorf("GitHub does not accept the login any more; run cairn auth login github-copilot")
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return "", time.Time{}, &llm.Error{Class: llm.Overloaded, Status: resp.StatusCode, Message: "GitHub gives no token for Copilot just now"}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return "", time.Time{}, fmt.Errorf("%s redirects to %s, where the login at GitHub is not sent", r.URL.Host, target(resp))
	case !good(resp):
		return c.GitHub, time.Now().Add(unexchanged), nil
	}
	var out struct {
		Token   string `json:"token"`
		Expires int64  `json:"expires_at"`
	}
	if json.Unmarshal(raw, &out) != nil || out.Token == "" { // its error may quote the token
		return "", time.Time{}, fmt.Errorf("GitHub answered without a token for Copilot")
	}
	return out.Token, ours(resp, time.Unix(out.Expires, 0)), nil
}

// ours is a time of the server's by the clock of this machine, which may be wrong.
func ours(resp *http.Response, at time.Time) time.Time {
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return at
	}
	return time.Now().Add(at.Sub(now))
}

// copilotHeaders say what GitHub counts and routes by: who began the turn, and whether there are images.
func copilotHeaders(h http.Header, req *llm.Request) {
	initiator := "user"
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleUser:
			initiator = "user"
		case llm.RoleAssistant, llm.RoleTool:
			initiator = "agent"
		case llm.RoleSystem:
		}
		for _, p := range m.Parts {
			if media, ok := p.(llm.Media); ok && strings.HasPrefix(media.MediaType, "image/") {
				h.Set("Copilot-Vision-Request", "true")
			}
		}
	}
	h.Set("X-Initiator", initiator)
}
