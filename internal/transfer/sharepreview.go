package transfer

import (
	"context"
	"html"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/session"
)

// PreviewShare returns what the process that shares the session replaces. known are the secrets that the caller knows:
// if one of them would be shared, it returns an error. That happens when a key is in the environment of the caller, and
// not in that of the server.
func PreviewShare(ctx context.Context, c *api.Client, id session.ID, known []string) ([]Replacement, error) {
	preview, err := c.PreviewShare(ctx, id)
	if err != nil {
		return nil, err
	}
	escaped := make([]string, len(known))
	for i, secret := range known {
		escaped[i] = html.EscapeString(secret)
	}
	if string(redact.MaskValues([]byte(preview.Page), escaped)) != preview.Page {
		return nil, session.Errorf(session.CodeConflict, "the session has a secret that this environment knows, and the cairn "+
			"process that shares it does not, so it would not be replaced; start that process with the same variables, or store "+
			"the key with cairn auth login")
	}
	return preview.Replacements, nil
}
