package admit

import (
	"bytes"
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/systemcontext"
)

// SetContextEntry sets an entry of the session's system context; no value removes it. The model receives the change at
// the next boundary. A value that is set already commits no event, and is an error of CodeConflict with isNew. An
// invalid key, and a value beyond the limits, are errors of CodeInvalid.
func (c *Commands) SetContextEntry(ctx context.Context, id session.ID, entry session.ContextEntry, isNew bool) error {
	key, value := entry.Key, entry.Value
	// Check key and value by themselves.
	if len(key) > session.MaxEntryKey {
		return session.Errorf(session.CodeInvalid, "the key %.40q… has %d bytes, the limit is %d", key, len(key),
			session.MaxEntryKey).At("key")
	}
	if key == session.KeySharedFiles && len(value) > 0 {
		return session.Errorf(session.CodeInvalid, "the entry %q is cairn's own: it can be removed, not set", key).At("key")
	}
	if err := systemcontext.CheckKey("entry/" + key); err != nil {
		return session.Errorf(session.CodeInvalid, "the key %q is invalid: want lower-case letters, digits, "+
			"'.', '_', '-' and '/', beginning with a letter or digit", key).At("key")
	}
	if value.Kind() == 'n' || len(value) > 0 && value.Canonicalize() != nil {
		return session.Errorf(session.CodeInvalid, "the value of %q must be a JSON value other than null", key).
			At("value")
	}
	if len(value) > session.MaxEntry {
		return session.Errorf(session.CodeInvalid, "the value of %q has %d bytes, the limit is %d", key, len(value),
			session.MaxEntry).At("value")
	}
	// Set it, unless the session has the value already or all entries would be too large.
	_, err := c.journal.Log.Append(context.WithoutCancel(ctx), id, store.Durable,
		func(tx store.Tx) ([]eventlog.Draft, error) {
			s, err := store.FindSession(tx, id)
			if err != nil {
				return nil, err
			}
			if _, taken := s.FindEntry(key); isNew && taken {
				return nil, session.Conflict("context entry", key, "is set already")
			}
			changed, err := checkEntry(s.Entries, entry)
			if err != nil || !changed {
				return nil, err
			}
			return eventlog.NewDrafts(&session.ContextEntrySet{ContextEntry: entry}), nil
		})
	return err
}

// checkEntry reports whether the entry changes the session's entries. It returns an error if they would be too many or
// too large.
func checkEntry(entries []session.ContextEntry, e session.ContextEntry) (changed bool, err error) {
	others, size := 0, len(e.Value)
	var before jsontext.Value
	for _, other := range entries {
		if other.Key == e.Key {
			before = other.Value
			continue
		}
		others, size = others+1, size+len(other.Value)
	}
	switch {
	case len(e.Value) > 0 && others >= session.MaxEntries:
		return false, session.Errorf(session.CodeInvalid, "%q would be entry %d, the limit is %d", e.Key, others+1,
			session.MaxEntries).At("key")
	case len(e.Value) > 0 && size > session.MaxEntryBytes:
		return false, session.Errorf(session.CodeInvalid, "with %q the entries have %d bytes, the limit is %d", e.Key, size,
			session.MaxEntryBytes).
			At("value")
	}
	return !bytes.Equal(before, e.Value), nil
}
