package provider

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/cairn-dev/cairn/internal/llm"
)

// Copilot exchanges a GitHub token for the short-lived tokens of GitHub Copilot. It uses the GitHub token itself for
// accounts without exchange.
type Copilot struct {
	GitHub string // the token of a login at GitHub
	Client *http.Client
	API    string     // GitHub's API; "" is https://api.github.com
	Cache  TokenCache // nil disables sharing with other processes

	token bearerToken
}

var _ Credential = (*Copilot)(nil)

// Authorize implements Credential.
func (c *Copilot) Authorize(ctx context.Context, r *http.Request, _ []byte) error {
	return c.token.authorize(ctx, r, c.requestToken)
}

// Renew implements Credential.
func (c *Copilot) Renew(ctx context.Context, refused *http.Request) (bool, error) {
	return c.token.renew(ctx, refused, c.requestToken)
}

func (c *Copilot) requestToken(ctx context.Context, refused string) (string, time.Time, error) {
	return c.Cache.getToken(ctx, c.GitHub+"\n"+c.API, refused, c.exchange)
}

// exchangeRetry is the time for which the GitHub token is used before another attempt to exchange it.
const exchangeRetry = 30 * time.Minute

// exchange exchanges the GitHub token for a token of Copilot's API and returns it with its expiry. If GitHub refuses
// the exchange for another reason than the login, the GitHub token itself is used for a while.
func (c *Copilot) exchange(ctx context.Context) (string, time.Time, error) {
	r, err := http.NewRequestWithContext(
		ctx, http.MethodGet, cmp.Or(c.API, "https://api.github.com")+"/copilot_internal/v2/token", nil,
	)
	if err != nil {
		return "", time.Time{}, err
	}
	// Ask for the token. The response is bounded.
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
	// Classify a failure: log in again, try again later, or use the GitHub token itself.
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		return "", time.Time{}, fmt.Errorf("GitHub rejects the stored login; run cairn auth login github-copilot")
	case resp.StatusCode >= 500 || resp.StatusCode == http.StatusTooManyRequests:
		return "", time.Time{}, &llm.Error{
			Class: llm.Overloaded, Status: resp.StatusCode,
			Message: "GitHub currently issues no tokens for Copilot; try again later",
		}
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		return "", time.Time{}, fmt.Errorf(
			"%s redirects to %s; the GitHub token is not sent to another host", r.URL.Host, redirectTarget(resp),
		)
	case !isSuccess(resp):
		return c.GitHub, time.Now().Add(exchangeRetry), nil
	}
	var out struct {
		Token   string `json:"token"`
		Expires int64  `json:"expires_at"`
	}
	if json.Unmarshal(raw, &out) != nil || out.Token == "" { // its error may quote the token
		return "", time.Time{}, fmt.Errorf("GitHub's response contains no Copilot token")
	}
	return out.Token, localTime(resp, time.Unix(out.Expires, 0)), nil
}

// localTime converts a time of the server to the clock of this machine, which may be wrong.
func localTime(resp *http.Response, at time.Time) time.Time {
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return at
	}
	return time.Now().Add(at.Sub(now))
}

// setCopilotHeaders adds what GitHub counts and routes by: the initiator of the turn, and whether there are images.
func setCopilotHeaders(h http.Header, req *llm.Request) {
	initiator := "user"
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleUser:
			initiator = "user"
		case llm.RoleAssistant, llm.RoleTool:
			initiator = "agent"
		case llm.RoleSystem:
		}
		for media := range llm.PartsOf[llm.Media](m.Parts) {
			if strings.HasPrefix(media.MediaType, "image/") {
				h.Set("Copilot-Vision-Request", "true")
			}
		}
	}
	h.Set("X-Initiator", initiator)
}
