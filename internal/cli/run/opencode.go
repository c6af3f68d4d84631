package run

import (
	"context"
	"errors"
	"net/http"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// headlessRule is a rule of a session in the words of OpenCode's V1 contract.
type headlessRule struct {
	Permission string `json:"permission"`
	Pattern    string `json:"pattern"`
	Action     string `json:"action"`
}

// createOpenCodeSession creates a session as OpenCode's run does: through the V1 contract, which allows what no rule
// decides, and with questions denied.
func createOpenCodeSession(ctx context.Context, c *api.Client, title string) (session.ID, error) {
	request := struct {
		Title      string         `json:"title,omitzero"`
		Permission []headlessRule `json:"permission"`
	}{title, []headlessRule{{"question", "*", "deny"}, {"plan_enter", "*", "deny"}, {"plan_exit", "*", "deny"}}}
	var created struct {
		ID session.ID `json:"id"`
	}
	err := c.CallV1(ctx, http.MethodPost, "/session", request, &created)
	return created.ID, err
}

// errSessionNotFound is OpenCode's message for an unknown session, which scripts look for.
//
//lint:ignore ST1005 the words are OpenCode's
var errSessionNotFound = errors.New("Session not found")
