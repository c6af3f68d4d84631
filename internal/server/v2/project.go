package v2

import (
	"context"
	"os"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// Projects changes the records of projects.
type Projects interface {
	ChangeRecord(ctx context.Context, id session.RecordID, c project.RecordChange) (store.Project, error)
	ForgetRecord(ctx context.Context, id session.RecordID) error
}

// projectHandlers lists and changes the records of projects.
type projectHandlers struct{ *dependencies }

// projectIn is a request about one project: the id of a record, or what OpenCode calls the project.
type projectIn struct {
	Location  operation.Location
	ProjectID session.ProjectID `path:"projectID"`
	All       allFields
}

// list lists the projects, the oldest first. Without all, those that OpenCode calls the same are one.
func (h projectHandlers) list(ctx context.Context, in struct{ All allFields }) ([]api.ProjectRecord, error) {
	return store.Query(ctx, h.Store, func(rd store.Reader) ([]api.ProjectRecord, error) {
		records, err := rd.Projects(store.ProjectQuery{})
		out := []api.ProjectRecord{}
		at := map[session.ProjectID]int{}
		for _, p := range records {
			if err != nil {
				return nil, err
			}
			var one api.ProjectRecord
			if one, err = describeProject(rd, p, in.All); err != nil {
				return nil, err
			}
			i, known := at[p.ProjectID]
			if bool(in.All) || !known {
				at[p.ProjectID] = len(out)
				out = append(out, one)
				continue
			}
			first := &out[i]
			first.Sandboxes = append(append(first.Sandboxes, one.Canonical), one.Sandboxes...)
			first.Time.Updated = max(first.Time.Updated, one.Time.Updated)
			first.Time.Active = max(first.Time.Active, one.Time.Active)
		}
		return out, err
	})
}

// describeProject returns a record as a client sees it.
func describeProject(rd store.Reader, p store.Project, all allFields) (api.ProjectRecord, error) {
	out := api.ProjectRecord{
		ID: p.ProjectID, Canonical: p.Path, Name: p.Name, Icon: api.ProjectIcon(p.Icon),
		Time:      api.ProjectTime{Created: p.Created, Updated: p.Updated, Active: p.Created},
		Sandboxes: append([]string{}, project.Worktrees(p)...),
	}
	if p.Common != "" {
		out.VCS = "git"
	}
	newest, err := rd.RawSessions(store.SessionQuery{RecordID: p.ID, Archived: true, Recent: true, Limit: 1})
	if err != nil {
		return out, err
	}
	for _, s := range newest {
		out.Time.Active = max(out.Time.Active, s.Updated)
	}
	if all {
		_, statErr := os.Stat(p.Path)
		out.RecordID, out.Root, out.Remote, out.Missing = p.ID, p.Root, p.Remote, os.IsNotExist(statErr)
		out.Earlier = p.Earlier
	}
	return out, nil
}

// get returns a project with the number of its sessions and approvals.
func (h projectHandlers) get(ctx context.Context, in projectIn) (out api.ProjectRecord, err error) {
	id, err := h.requireRecord(ctx, in)
	if err != nil {
		return out, err
	}
	return h.read(ctx, id, in.All)
}

func (h projectHandlers) read(ctx context.Context, id session.RecordID, all allFields) (api.ProjectRecord, error) {
	return store.Query(ctx, h.Store, func(rd store.Reader) (out api.ProjectRecord, err error) {
		records, err := rd.Projects(store.ProjectQuery{ID: id})
		if err != nil {
			return out, err
		}
		if len(records) == 0 {
			return out, session.NotFound("project", string(id))
		}
		if out, err = describeProject(rd, records[0], all); err != nil || !all {
			return out, err
		}
		rows, err := rd.RawSessions(store.SessionQuery{
			RecordID: id, Archived: true, ParentID: new(session.ID), Limit: store.MaxElsewhere,
		})
		if err != nil {
			return out, err
		}
		approvals, err := rd.Approvals(id)
		out.Sessions, out.Approvals = len(rows), len(approvals)
		return out, err
	})
}

// requireRecord returns the record that a request means.
func (h projectHandlers) requireRecord(ctx context.Context, in projectIn) (session.RecordID, error) {
	id, err := h.findRecord(ctx, in.ProjectID, in.Location.Location)
	if err == nil && id == "" {
		err = session.NotFound("project", string(in.ProjectID))
	}
	return id, err
}

// projectPatch is the body of project.update.
type projectPatch struct {
	api.ProjectPatch
	Commands map[string]jsontext.Value `json:"commands,omitzero"`
}

// update changes the name, the icon or the directory of a project.
func (h projectHandlers) update(ctx context.Context, in struct {
	projectIn
	Body projectPatch `body:"required"`
},
) (out api.ProjectRecord, err error) {
	id, err := h.requireRecord(ctx, in.projectIn)
	switch {
	case err != nil:
		return out, err
	case len(in.Body.Commands) > 0:
		return out, httpio.NewInvalid("body", "commands", "commands cannot be stored: cairn does not run them")
	}
	_, err = h.Projects.ChangeRecord(ctx, id, project.RecordChange{
		Name: in.Body.Name, Icon: (*store.ProjectIcon)(in.Body.Icon), Directory: in.Body.Canonical,
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	return h.read(ctx, id, in.All)
}

// forget deletes a record with its approvals. Its sessions stay.
func (h projectHandlers) forget(ctx context.Context, in projectIn) (operation.None, error) {
	id, err := h.requireRecord(ctx, in)
	if err == nil {
		err = h.Projects.ForgetRecord(ctx, id)
	}
	return operation.None{}, err
}
