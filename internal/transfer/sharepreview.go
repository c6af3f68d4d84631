package transfer

import (
	"bytes"
	"context"
	"html"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/llm/redact"
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
	hasSecret := hasPageSecret(preview.Page, known)
	for _, item := range preview.Items {
		if hasSecret {
			break
		}
		if hasSecret, err = hasItemSecret(item, known); err != nil {
			return nil, err
		}
	}
	if hasSecret {
		return nil, session.Errorf(session.CodeConflict, "the session has a secret that this environment knows, and the cairn "+
			"process that shares it does not, so it would not be replaced; start that process with the same variables, or store "+
			"the key with cairn auth login")
	}
	return preview.Replacements, nil
}

// hasPageSecret reports whether a page has one of the secrets.
func hasPageSecret(page string, known []string) bool {
	escaped := make([]string, len(known))
	for i, secret := range known {
		escaped[i] = html.EscapeString(secret)
	}
	return string(redact.MaskValues([]byte(page), escaped)) != page
}

// hasItemSecret reports whether a value that would be uploaded has one of the secrets, in a text or an attachment.
func hasItemSecret(item jsontext.Value, known []string) (bool, error) {
	with, err := (&redaction.Filter{Known: known}).JSON(item)
	if err != nil {
		return false, err
	}
	without, err := new(redaction.Filter).JSON(item)
	return !bytes.Equal(with, without), err
}
