package v2

import (
	"context"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/record/eventlog"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/server/operation"
	"github.com/cairn-dev/cairn/internal/session"
)

// Projects changes the records of projects.
type Projects interface {
	ChangeRecord(ctx context.Context, id session.RecordID, c project.RecordChange) (project.ChangedRecord, error)
	ForgetRecord(ctx context.Context, id session.RecordID) error
	// FollowRenamed brings the records up to date whose directories were only renamed. It may leave that to a later call.
	FollowRenamed(ctx context.Context)
}

// eventProject is the kind of the event of a changed project.
const eventProject = "project.updated"

// NewProjectNotice returns the notice, for the streams of all locations, that the record of a project has changed.
func NewProjectNotice(ctx context.Context, s store.Store, p store.Project) (eventlog.Notice, error) {
	row, err := store.Query(ctx, s, func(rd store.Reader) (projectRow, error) { return readProject(rd, p) })
	if err != nil {
		return eventlog.Notice{}, err
	}
	data, err := httpio.Encode(row.describe(false))
	return eventlog.Notice{Kind: eventProject, Data: data}, err
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
	h.Projects.FollowRenamed(ctx)
	// Read the records, and look at the disk only after the transaction.
	rows, err := store.Query(ctx, h.Store, func(rd store.Reader) (rows []projectRow, err error) {
		records, err := rd.Projects(store.ProjectQuery{})
		for _, p := range records {
			if err != nil {
				return nil, err
			}
			var row projectRow
			row, err = readProject(rd, p)
			rows = append(rows, row)
		}
		return rows, err
	})
	if err != nil {
		return nil, err
	}
	// Join those that OpenCode calls the same: the oldest has the others as its worktrees.
	out := []api.ProjectRecord{}
	at := map[session.ProjectID]int{}
	for _, row := range rows {
		one := row.describe(in.All)
		i, known := at[row.ProjectID]
		if bool(in.All) || !known {
			at[row.ProjectID] = len(out)
			out = append(out, one)
			continue
		}
		first := &out[i]
		first.Sandboxes = append(append(first.Sandboxes, one.Canonical), one.Sandboxes...)
		first.Time.Updated = max(first.Time.Updated, one.Time.Updated)
		first.Time.Active = max(first.Time.Active, one.Time.Active)
	}
	return out, nil
}

// projectRow is a record with the time of the newest change of its sessions, 0 without one.
type projectRow struct {
	store.Project
	active int64
}

func readProject(rd store.Reader, p store.Project) (projectRow, error) {
	row := projectRow{Project: p}
	newest, err := rd.RawSessions(store.SessionQuery{RecordID: p.ID, Archived: true, Recent: true, Limit: 1})
	for _, s := range newest {
		row.active = s.Updated
	}
	return row, err
}

// describe returns a record as a client sees it. It looks at the disk, so it must not be called within a transaction.
func (p projectRow) describe(all allFields) api.ProjectRecord {
	out := api.ProjectRecord{
		ID: p.ProjectID, Canonical: p.Path, Name: p.Name, Icon: api.ProjectIcon(p.Icon),
		Commands:  api.ProjectCommands(p.Commands),
		Time:      api.ProjectTime{Created: p.Created, Updated: p.Updated, Active: max(p.Created, p.active)},
		Sandboxes: append([]string{}, project.Worktrees(p.Project)...),
	}
	if p.Common != "" {
		out.VCS = "git"
	}
	if all {
		out.RecordID, out.Root, out.Remote, out.Earlier = p.ID, p.Root, p.Remote, p.Earlier
		switch project.FindPresence(p.Project) {
		case project.PresenceGone:
			out.Missing = true
		case project.PresenceReplaced:
			out.Replaced = true
		case project.PresenceUnlinked:
			out.Unlinked = true
		}
	}
	return out
}

// get returns a project with the number of its sessions and approvals.
func (h projectHandlers) get(ctx context.Context, in projectIn) (out api.ProjectRecord, err error) {
	id, err := h.requireRecord(ctx, in)
	if err != nil {
		return out, err
	}
	return h.read(ctx, id, in.All)
}

func (h projectHandlers) read(
	ctx context.Context, id session.RecordID, all allFields,
) (out api.ProjectRecord, err error) {
	var row projectRow
	sessions, approvals := 0, 0
	err = h.Store.View(ctx, func(rd store.Reader) error {
		// Find the record.
		records, err := rd.Projects(store.ProjectQuery{ID: id})
		if err != nil {
			return err
		}
		if len(records) == 0 {
			return session.NotFound("project", string(id))
		}
		if row, err = readProject(rd, records[0]); err != nil || !bool(all) {
			return err
		}
		// Count its sessions as their list does, which has those from before a repository in its directory, too.
		q := store.SessionQuery{RecordID: id, Archived: true, ParentID: new(session.ID), Limit: store.MaxElsewhere}
		if row.Common != "" {
			q.Within = row.Path
		}
		rows, err := rd.RawSessions(q)
		if err != nil {
			return err
		}
		saved, err := rd.Approvals(id)
		sessions, approvals = len(rows), len(saved)
		return err
	})
	if err != nil {
		return out, err
	}
	out = row.describe(all)
	out.Sessions, out.Approvals = sessions, approvals
	return out, nil
}

// requireRecord returns the record that a request means.
func (h projectHandlers) requireRecord(ctx context.Context, in projectIn) (session.RecordID, error) {
	id, err := h.findRecord(ctx, in.ProjectID, in.Location.Location)
	if err == nil && id == "" {
		err = session.NotFound("project", string(in.ProjectID))
	}
	return id, err
}

// update changes the name, the icon, the commands or the directory of a project.
func (h projectHandlers) update(ctx context.Context, in struct {
	projectIn
	Body api.ProjectPatch `body:"required"`
},
) (out api.ProjectRecord, err error) {
	id, err := h.requireRecord(ctx, in.projectIn)
	if err != nil {
		return out, err
	}
	changed, err := h.Projects.ChangeRecord(ctx, id, project.RecordChange{
		Name: in.Body.Name, Icon: (*store.ProjectIcon)(in.Body.Icon),
		Commands: (*store.ProjectCommands)(in.Body.Commands), Directory: in.Body.Canonical,
		DryRun: in.Body.DryRun,
	})
	if err != nil {
		return out, httpio.WithPart("body", err)
	}
	if out, err = h.read(ctx, id, in.All); err != nil || !bool(in.All) {
		return out, err
	}
	for _, a := range changed.Dropped {
		out.Dropped = append(out.Dropped, describeApproval(a, nil, true))
	}
	return out, nil
}

// forget deletes a record with its approvals. Its sessions stay.
func (h projectHandlers) forget(ctx context.Context, in projectIn) (operation.None, error) {
	id, err := h.requireRecord(ctx, in)
	if err == nil {
		err = h.Projects.ForgetRecord(ctx, id)
	}
	return operation.None{}, err
}
