package v1

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/caller"
	"github.com/cairn-dev/cairn/internal/engine"
	"github.com/cairn-dev/cairn/internal/engine/admit"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// sessionHandlers reads and changes sessions.
type sessionHandlers struct{ *dependencies }

// newSession is the body of session.create.
type newSession struct {
	ParentID   session.ID      `json:"parentID,omitzero"`
	Title      string          `json:"title,omitzero"`
	Agent      string          `json:"agent,omitzero"`
	Model      *sessionModel   `json:"model,omitzero"`
	Metadata   jsontext.Value  `json:"metadata,omitzero"`
	Permission []opencode.Rule `json:"permission,omitzero"`
	Workspace  string          `json:"workspaceID,omitzero"`
}

type sessionModel struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	Variant    string `json:"variant,omitzero"`
}

// Validate implements operation.Validator. Workspaces do not exist.
func (b *newSession) Validate() error {
	if b.Workspace != "" {
		return session.NotFound("workspace", b.Workspace)
	}
	if b.ParentID != "" {
		if err := session.CheckID("parentID", session.PrefixSession, string(b.ParentID)); err != nil {
			return err
		}
	}
	return opencode.CheckRules(b.Permission)
}

func (h sessionHandlers) create(ctx context.Context, in struct {
	Location operation.Location
	Body     newSession `body:"optional"`
},
) (opencode.Session, error) {
	q := admit.CreateRequest{
		ParentID: in.Body.ParentID, Agent: in.Body.Agent, Location: in.Location.Location, Title: in.Body.Title,
		Metadata: in.Body.Metadata, Open: caller.FromContext(ctx).Role >= caller.Approve,
	}
	if m := in.Body.Model; m != nil {
		q.Model = &session.ModelRef{ID: m.ID, ProviderID: m.ProviderID, Variant: m.Variant}
	}
	if len(in.Body.Permission) > 0 {
		q.Permission = opencode.OurRules(in.Body.Permission)
	}
	s, err := h.Commands.CreateSession(ctx, q)
	if err != nil {
		return opencode.Session{}, inBody(err)
	}
	return opencode.SessionOf(s), nil
}

func (h sessionHandlers) get(ctx context.Context, in sessionIn) (opencode.Session, error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return opencode.Session{}, err
	}
	return opencode.SessionOf(s), nil
}

// sessionPatch is the body of session.update.
type sessionPatch struct {
	Title      *string         `json:"title,omitzero"`
	Metadata   jsontext.Value  `json:"metadata,omitzero"`
	Permission []opencode.Rule `json:"permission,omitzero"` // appended to the session's rules
	Time       *struct {
		Archived *float64 `json:"archived,omitzero"`
	} `json:"time,omitzero"`
}

func (h sessionHandlers) update(ctx context.Context, in struct {
	sessionIn
	Body sessionPatch `body:"required"`
},
) (opencode.Session, error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return opencode.Session{}, err
	}
	b := in.Body
	c := admit.SessionChange{Title: b.Title}
	// Only members that the client sent change; null metadata counts as absent.
	if b.Metadata.Kind() != 'n' {
		c.Metadata = b.Metadata
	}
	if err := opencode.CheckRules(b.Permission); err != nil {
		return opencode.Session{}, httpio.WithPart("body", err)
	}
	// The client's rules are added to those of the session; they do not replace them.
	if len(b.Permission) > 0 {
		rules := slices.Concat(s.Permission, opencode.OurRules(b.Permission))
		c.Permission = &rules
	}
	// A time of 0 restores an archived session.
	if b.Time != nil && b.Time.Archived != nil {
		archived := *b.Time.Archived != 0
		c.Archived, c.ArchivedAt = &archived, int64(*b.Time.Archived)
	}
	if err := h.Commands.ChangeSession(ctx, s.ID, c); err != nil {
		return opencode.Session{}, httpio.WithPart("body", err)
	}
	return h.get(ctx, in.sessionIn)
}

func (h sessionHandlers) delete(ctx context.Context, in sessionIn) (bool, error) {
	return true, h.Commands.DeleteSession(ctx, in.SessionID)
}

func (h sessionHandlers) listTodos(ctx context.Context, in sessionIn) ([]session.Todo, error) {
	s, err := store.ReadSession(ctx, h.Store, in.SessionID)
	if err != nil {
		return nil, err
	}
	return append([]session.Todo{}, s.Todos...), nil
}

// abortSession interrupts a session. A session that is idle or missing has nothing to interrupt, as in OpenCode.
func (h sessionHandlers) abortSession(ctx context.Context, in sessionIn) (bool, error) {
	err := h.Runs.Interrupt(ctx, in.SessionID)
	if err != nil && httpio.PublicError(err).Code == session.CodeNotFound {
		err = nil
	}
	return true, err
}

// listStatuses lists the states of the sessions of the directory that are not idle.
func (h sessionHandlers) listStatuses(ctx context.Context, in locationIn) (map[session.ID]opencode.State, error) {
	return store.Query(ctx, h.Store, func(rd store.Reader) (map[session.ID]opencode.State, error) {
		out := map[session.ID]opencode.State{}
		for _, id := range h.Runs.Active() {
			s, ok, err := rd.Session(id)
			if err != nil {
				return nil, err
			}
			now := h.Runs.Status(id)
			if ok && s.Location.Directory == in.Location.Directory && now.Type != engine.StatusIdle {
				out[id] = convertStatus(now)
			}
		}
		return out, nil
	})
}
