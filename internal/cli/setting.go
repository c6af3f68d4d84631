package cli

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"
)

// StoreSetting sets a key of the user's configuration to a text, as cairn config set does, and returns the file.
func (a *Invocation) StoreSetting(ctx context.Context, key, value string) (file string, err error) {
	c, err := a.LoadConfig(ctx)
	if err != nil {
		return "", err
	}
	quoted, err := jsontext.AppendQuote(nil, value)
	if err != nil {
		return "", err
	}
	if err := a.RecordSettings(ctx, "set "+key+" to "+string(quoted)+" in the user's configuration"); err != nil {
		return "", err
	}
	return c.ChangeValue(ctx, false, key, []jsontext.Value{quoted})
}
