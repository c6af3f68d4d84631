package command

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// SetContextEntry sets an entry of the session's system context; no value removes it. The model receives the change at
// the next boundary. A value that is set already commits no event. An invalid key, and a value beyond the limits, are
// errors of CodeInvalid.
func (c *Commands) SetContextEntry(ctx context.Context, id session.ID, key string, value jsontext.Value) error {
	if err := systemcontext.CheckKey("entry/" + key); err != nil {
		return session.Errorf(session.CodeInvalid, "the key %q is invalid: want lower-case letters, digits, "+
			"'.', '_', '-' and '/', beginning with a letter or digit", key).At("key")
	}
	if value.Kind() == 'n' || len(value) > 0 && value.Canonicalize() != nil {
		return session.Errorf(session.CodeInvalid, "the value of %q must be a JSON value other than null", key).At("value")
	}
	if len(value) > session.MaxEntry {
		return session.Errorf(session.CodeInvalid, "the value of %q has %d bytes, the limit is %d", key, len(value),
			session.MaxEntry).At("value")
	}
	s, err := c.journal.ReadSession(ctx, id)
	if err != nil {
		return err
	}
	others, size := 0, len(value)
	var before jsontext.Value
	for _, e := range s.Entries {
		if e.Key == key {
			before = e.Value
			continue
		}
		others, size = others+1, size+len(e.Value)
	}
	switch {
	case bytes.Equal(before, value):
		return nil
	case len(value) > 0 && others >= session.MaxEntries:
		return session.Errorf(session.CodeInvalid, "%q would be entry %d, the limit is %d", key, others+1,
			session.MaxEntries).At("key")
	case len(value) > 0 && size > session.MaxEntryBytes:
		return session.Errorf(session.CodeInvalid, "with %q the entries have %d bytes, the limit is %d", key, size,
			session.MaxEntryBytes).At("value")
	}
	return c.journal.AppendFacts(ctx, id, &session.ContextEntrySet{
		ContextEntry: session.ContextEntry{Key: key, Value: value},
	})
}
