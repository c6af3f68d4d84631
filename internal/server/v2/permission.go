package v2

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/engine/ask"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// permissionHandlers lists pending permission asks and saved approvals, replies to asks and explains rules.
type permissionHandlers struct{ *dependencies }

// publicAsk returns a pending ask as a client sees it.
func publicAsk(p session.PendingAsk, all allFields) session.PendingAsk {
	if !all {
		return p.PublicForm()
	}
	if p.Resources == nil {
		p.Resources = []string{}
	}
	return p
}

// selectPermissions returns the asks that are not questions.
func selectPermissions(rows []*store.AskRow, all allFields) []session.PendingAsk {
	out := []session.PendingAsk{}
	for _, row := range rows {
		if !row.IsQuestion() {
			out = append(out, publicAsk(row.PendingAsk, all))
		}
	}
	return out
}

func (h permissionHandlers) list(ctx context.Context, in sessionFieldsIn) (api.Data[[]session.PendingAsk], error) {
	rows, err := h.Asks.List(ctx, in.SessionID)
	return newData(selectPermissions(rows, in.All)), err
}

// listAll lists the pending asks of the sessions of the location.
func (h permissionHandlers) listAll(ctx context.Context, in listIn) (api.AtLocation[[]session.PendingAsk], error) {
	return listAt(ctx, h.dependencies, in.Location.Location,
		func(ctx context.Context, l session.Location) ([]session.PendingAsk, error) {
			rows, err := store.PendingAsksAt(ctx, h.Store, l.Directory)
			return selectPermissions(rows, in.All), err
		})
}

func (h permissionHandlers) get(ctx context.Context, in struct {
	askIn
	All allFields `query:"all"`
},
) (out api.Data[session.PendingAsk], err error) {
	row, err := store.Query(ctx, h.Store, func(rd store.Reader) (*store.AskRow, error) {
		if _, err := store.FindSession(rd, in.SessionID); err != nil {
			return nil, err
		}
		row, ok, err := store.FindAskOf(rd, in.SessionID, in.RequestID)
		if err == nil && (!ok || row.Reply != "" || row.IsQuestion()) {
			err = session.NotFound("permission", string(in.RequestID))
		}
		return row, err
	})
	if err != nil {
		return out, err
	}
	return newData(publicAsk(row.PendingAsk, in.All)), nil
}

// create asks for a permission on behalf of a client, outside of any tool call. It does not wait for the reply.
func (h permissionHandlers) create(
	ctx context.Context,
	in bodyOf[api.AskRequest],
) (out api.Data[api.AskReceipt], err error) {
	b := in.Body
	switch {
	case b.Action == "":
		err = httpio.NewInvalid("body", "action", "action is missing: it must name the action to permit")
	case len(b.Resources) == 0:
		err = httpio.NewInvalid("body", "resources", "resources is missing: it must name at least one resource")
	case b.Metadata != nil && b.Metadata.Kind() != '{':
		err = httpio.NewInvalid("body", "metadata", "metadata must be an object")
	}
	if err != nil {
		return out, err
	}
	effect, id, err := h.Asks.AskExternally(ctx, in.SessionID, session.PendingAsk{
		ID: b.ID, Action: b.Action, Resources: b.Resources, Save: b.Save, Metadata: b.Metadata, Source: b.Source,
		Agent: b.Agent,
	})
	return newData(api.AskReceipt{ID: id, Effect: effect}), httpio.WithPart("body", err)
}

func (h permissionHandlers) reply(ctx context.Context, in struct {
	askIn
	Body api.ReplyRequest `body:"required"`
},
) (operation.None, error) {
	err := h.Asks.Reply(ctx, in.SessionID, in.RequestID, ask.UserReply{
		Reply: in.Body.Reply, Message: in.Body.Message, Lifetime: in.Body.Lifetime,
		Patterns: in.Body.Patterns,
	})
	return operation.None{}, httpio.WithPart("body", repliedAsNotFound(err))
}

// repliedAsNotFound turns the conflict of an ask that has its reply into not found, the only error that OpenCode's
// document has for it.
func repliedAsNotFound(err error) error {
	e, ok := errors.AsType[*session.Error](err)
	if !ok || e.Code != session.CodeConflict || e.Kind != "permission" {
		return err
	}
	missing := *e
	missing.Code = session.CodeNotFound
	return &missing
}

// listApprovals lists the saved approvals of a project, or all.
func (h permissionHandlers) listApprovals(ctx context.Context, in struct {
	Location  operation.Location
	ProjectID string `query:"projectID"`
	All       allFields
},
) (out api.Data[[]api.Approval], err error) {
	record, err := h.findRecord(ctx, session.ProjectID(in.ProjectID), in.Location.Location)
	if err != nil || record == "" && in.ProjectID != "" {
		out.Data = []api.Approval{}
		return out, err
	}
	names := map[session.RecordID]session.ProjectID{}
	rows, err := store.Query(ctx, h.Store, func(rd store.Reader) ([]store.Approval, error) {
		projects, err := rd.Projects(store.ProjectQuery{ID: record})
		for _, p := range projects {
			names[p.ID] = p.ProjectID
		}
		if err != nil {
			return nil, err
		}
		return rd.Approvals(record)
	})
	out.Data = make([]api.Approval, len(rows))
	for i, row := range rows {
		out.Data[i] = describeApproval(row, names, in.All)
	}
	return out, err
}

// describeApproval returns an approval as a client sees it. names are what OpenCode calls the projects of the records.
func describeApproval(row store.Approval, names map[session.RecordID]session.ProjectID, all allFields) api.Approval {
	out := api.Approval{ID: row.ID, ProjectID: names[row.RecordID], Action: row.Action, Resource: row.Resource}
	if all {
		out.RecordID, out.Lifetime, out.Holder, out.Time = row.RecordID, row.Lifetime, row.Holder, row.Time
	}
	return out
}

// findRecord returns the record that a client means: by its id, or, if OpenCode calls the project of the location so, that
// of the location; "" for all of "", and for a project that is not known.
func (d *dependencies) findRecord(
	ctx context.Context, project session.ProjectID, l session.Location,
) (session.RecordID, error) {
	if project == "" {
		return "", nil
	}
	if isRecordID(project) {
		return session.RecordID(project), nil
	}
	at, err := d.Locations.Location(ctx, l)
	if err == nil && at.Project.ID == project {
		return at.RecordID, nil
	}
	found, readErr := d.findProjects(ctx, project)
	if readErr == nil && len(found) == 1 {
		return found[0].ID, nil
	}
	return "", readErr
}

// isRecordID reports whether a client names a record, and not a project as OpenCode calls it.
func isRecordID(id session.ProjectID) bool {
	return strings.HasPrefix(string(id), string(session.PrefixRecord)+"_")
}

// findProjects returns the records of what OpenCode calls one project.
func (d *dependencies) findProjects(ctx context.Context, id session.ProjectID) ([]store.Project, error) {
	all, err := store.Query(ctx, d.Store, func(rd store.Reader) ([]store.Project, error) {
		return rd.Projects(store.ProjectQuery{})
	})
	return slices.DeleteFunc(all, func(p store.Project) bool { return p.ProjectID != id }), err
}

func (h permissionHandlers) revoke(ctx context.Context, in struct {
	ID string `path:"id"`
},
) (operation.None, error) {
	return operation.None{}, h.Asks.RevokeApproval(ctx, in.ID)
}

// explain says what the rules decide about an action, and which rules decide it.
func (h permissionHandlers) explain(ctx context.Context, in struct {
	SessionID string  `query:"sessionID"`
	Agent     string  `query:"agent"`
	Action    string  `query:"action"`
	Resource  *string `query:"resource"`
	locationIn
},
) (out api.Data[api.Verdict], err error) {
	// Both parameters are required, and have no useful default.
	switch {
	case in.Action == "":
		return out, httpio.NewInvalid("query", "action",
			"action is missing: it must name what would be done, e.g. bash or edit")
	case in.Resource == nil:
		return out, httpio.NewInvalid("query", "resource",
			"resource is missing: it must name the target, e.g. the command or the path")
	}
	// Evaluate the rules as a call would, but without an ask.
	rights, err := h.Asks.ExplainRights(ctx, ask.Query{
		SessionID: session.ID(in.SessionID), Location: in.Location.Location, Agent: in.Agent, Action: in.Action,
		Resources: []string{*in.Resource},
	})
	if err != nil {
		return out, httpio.WithPart("query", err)
	}
	decisions := rights.Decisions
	out.Data = api.Verdict{
		Effect: permission.FindStrictest(decisions).Effect, Parts: make([]api.Decision, len(decisions)),
		Sandbox: rights.Sandbox,
	}
	for i, d := range decisions {
		out.Data.Parts[i] = api.Decision{
			Resource: strings.ReplaceAll(d.Resource, "\x00", "*"), Effect: d.Effect, Rule: d.Rule, Layer: d.Layer,
			Source: d.Source, Reason: d.Reason,
		}
	}
	return out, nil
}
