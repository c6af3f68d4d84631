package admit

import (
	"context"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine/scope"
	"github.com/cairn-dev/cairn/internal/session"
)

// CreateRequest asks for a new session.
type CreateRequest struct {
	ID         session.ID // the caller's idempotency key; "" makes one
	ParentID   session.ID
	Agent      string
	Model      *session.ModelRef
	Location   session.Location
	Unplaced   bool // the caller named no location: it is the server's own
	Title      string
	Permission []session.Rule
	Open       bool   // allow what no rule decides
	Contract   string // of an open session
	Budget     *session.Budget
	Sandbox    session.SandboxMode
	Timezone   session.TimeZone // "": that of the parent, or the configured one
	Metadata   jsontext.Value   // an object that clients store with the session
	Ephemeral  bool             // delete the session when the command that creates it ends

	UnderWay     bool // part of work under way, which goes on without room for new work
	RequireModel bool // refuse the session if neither the request, its agent nor the configuration names a model
}

// authorize refuses rules that allow something if the caller may not approve it.
func (r *CreateRequest) authorize(ctx context.Context) error {
	if r.Open {
		return caller.Require(ctx, caller.Approve, "a session that runs tools without asks")
	}
	if r.Sandbox == session.SandboxOff {
		return caller.Require(ctx, caller.Approve, "a session without a sandbox")
	}
	for _, rule := range r.Permission {
		if rule.Effect == session.Allow {
			return caller.Require(ctx, caller.Approve, "a session with a rule that allows something")
		}
	}
	return nil
}

// buildSession returns the session that the request describes.
func (r *CreateRequest) buildSession(scope *scope.Scope, version string, now time.Time) (*session.Session, error) {
	info := &session.Session{
		ID: r.ID, ParentID: r.ParentID, ProjectID: scope.ProjectID, RecordID: scope.RecordID, Agent: r.Agent, Model: r.Model,
		Time: session.SessionTime{Created: now.UnixMilli(), Updated: now.UnixMilli()}, Title: r.Title,
		Location: scope.Location, Subpath: scope.Subpath, Slug: NameSlug(string(r.ID)), Version: version,
		Permission: r.Permission, Open: r.Open, Budget: r.Budget, Metadata: r.Metadata,
		Timezone: r.Timezone, Ephemeral: r.Ephemeral,
	}
	if r.Open {
		info.Contract = r.Contract
	}
	if r.ParentID == "" {
		info.Budget = r.Budget.WithDefaults(scope.Budget)
	}
	info.Sandbox = scope.ChooseNewSandbox(r.Sandbox, r.Agent)
	if info.Title == "" {
		info.Title = placeholderTitle(r.ParentID != "", now)
		return info, nil
	}
	title, err := parseTitle(info.Title)
	info.Title, info.TitledBy = title, "user"
	return info, err
}

// maxMetadata is the size of the metadata of a session in bytes.
const maxMetadata = 64 << 10

func checkMetadata(v jsontext.Value) error {
	switch {
	case v == nil:
		return nil
	case v.Kind() != '{' || !v.IsValid():
		return session.Errorf(session.CodeInvalid, "metadata must be an object").At("metadata")
	case len(v) > maxMetadata:
		return session.Errorf(session.CodeInvalid,
			"metadata has %d bytes, the limit is %d", len(v), maxMetadata).At("metadata")
	default:
		return nil
	}
}
