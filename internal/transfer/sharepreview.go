package transfer

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/redaction"
)

// PreviewShare returns what the process that shares the session replaces. known are the secrets that the caller knows:
// if one of them would be shared, it returns an error. That happens when a key is in the environment of the caller, and
// not in that of the server.
func PreviewShare(ctx context.Context, c *api.Client, id session.ID, known []string) ([]Replacement, error) {
	preview, err := c.PreviewShare(ctx, id)
	if err != nil {
		return nil, err
	}
	for _, item := range preview.Items {
		hasSecret, err := hasItemSecret(item, known)
		if err != nil {
			return nil, err
		}
		if hasSecret {
			return nil, session.Errorf(session.CodeConflict, "the session has a secret that this environment knows, and the cairn "+
				"process that shares it does not, so it would not be replaced; start that process with the same variables, or store "+
				"the key with cairn auth login")
		}
	}
	return preview.Replacements, nil
}

// hasItemSecret reports whether a value that would be shared has one of the secrets, in a text, also behind marks of Markdown,
// or in an attachment.
func hasItemSecret(item jsontext.Value, known []string) (bool, error) {
	with, err := (&redaction.Filter{Known: known}).JSON(item)
	if err != nil {
		return false, err
	}
	without, err := new(redaction.Filter).JSON(item)
	return !bytes.Equal(with, without), err
}
