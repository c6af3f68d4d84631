package cli

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/proctable"
)

// RefuseTool returns an error if a tool started this process, because only a person may do what is named.
func RefuseTool(what string) error {
	if !proctable.HasCallMark() {
		return nil
	}
	return fmt.Errorf("%s is refused: a command of a tool started this process, and only a person may do this", what)
}

// StoreSetting sets a key of the user's configuration to a text, as cairn config set does, and returns the file.
func (a *Invocation) StoreSetting(ctx context.Context, key, value string) (file string, err error) {
	if err := RefuseTool("cairn config set"); err != nil {
		return "", err
	}
	c, err := a.LoadConfig(ctx)
	if err != nil {
		return "", err
	}
	quoted, err := jsontext.AppendQuote(nil, value)
	if err != nil {
		return "", err
	}
	if err := a.RecordSettings(ctx, "set "+key+" in the configuration of the user"); err != nil {
		return "", err
	}
	return c.ChangeValue(ctx, false, key, []jsontext.Value{quoted})
}
