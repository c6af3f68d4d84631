package scope

import (
	"context"
	"errors"
	"testing"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// records are Scopes with the record of the project that is in each directory.
type records map[string]session.RecordID

// moved is where FindMoved finds every session.
const moved = "/moved"

func (r records) Scope(_ context.Context, l session.Location) (*Scope, func(), error) {
	record, ok := r[l.Directory]
	if !ok {
		return nil, nil, session.NotFound("directory", l.Directory)
	}
	r["open"] += "x"
	return &Scope{Location: l, RecordID: record}, func() { r["open"] = r["open"][1:] }, nil
}

func (records) Chain(context.Context, session.Location) *extension.Chain { return nil }

func (records) FindMoved(context.Context, *session.Session, *Scope) (string, error) {
	return moved, nil
}

// A session does not work at a place that has another project than its own.
func TestOpenForWork(t *testing.T) {
	for name, c := range map[string]struct {
		scopes  records
		at      string
		refused bool
	}{
		"not moved":                     {scopes: records{"/here": "own", moved: "other"}, at: "/here"},
		"moved, and nothing is here":    {scopes: records{moved: "own"}, at: moved},
		"moved, and another is here":    {scopes: records{"/here": "other", moved: "own"}, at: moved},
		"another has taken both places": {scopes: records{"/here": "other", moved: "third"}, refused: true},
		"another is where it was moved": {scopes: records{moved: "third"}, refused: true},
		"without a record":              {scopes: records{moved: ""}, refused: true},
	} {
		s := &session.Session{ID: "ses_1", RecordID: "own", Location: session.Location{Directory: "/here"}}
		at, isMoved, release, err := OpenForWork(t.Context(), c.scopes, s)
		switch {
		case c.refused && !errors.Is(err, &session.Error{Code: session.CodeConflict}):
			t.Errorf("%s: error %v, want a conflict", name, err)
		case !c.refused && (err != nil || at.Location.Directory != c.at || isMoved != (c.at == moved)):
			t.Errorf("%s: at %v, moved %v, error %v", name, at, isMoved, err)
		}
		if err == nil {
			release()
		}
		if c.scopes["open"] != "" {
			t.Errorf("%s: a scope was not released", name)
		}
	}
}
