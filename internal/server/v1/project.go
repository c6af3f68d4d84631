package v1

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/record/store"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// OpenCode has one project for all checkouts of a repository, with the others beside the first. cairn has a record for
// each checkout. The records with one id are one project here: the oldest gives its name and icon.

// describeProject returns the project of a location: its record or, outside of repositories, the one of all directories.
func (h instanceHandlers) describeProject(ctx context.Context, l *Location) (opencode.Project, error) {
	if l.RecordID == "" || l.ProjectID == project.Global {
		return h.projectOf(l), nil
	}
	records, err := h.readRecords(ctx, store.ProjectQuery{ID: l.RecordID})
	if err != nil || len(records) == 0 {
		return h.projectOf(l), err
	}
	return describeRecord(records[0]), nil
}

// describeRecord returns the project of one record.
func describeRecord(p store.Project) opencode.Project {
	out := opencode.Project{
		ID: p.ProjectID, Worktree: p.Path, Name: p.Name, Icon: opencode.ProjectIcon(p.Icon),
		Commands:  opencode.ProjectCommands(p.Commands),
		Sandboxes: append([]string{}, project.Worktrees(p)...),
		Time:      opencode.ProjectTime{Created: p.Created, Updated: p.Updated},
	}
	if p.Common != "" {
		out.VCS = "git"
	}
	if p.ProjectID == project.Global {
		out.Worktree, out.VCS, out.Name, out.Icon = "/", "", "", opencode.ProjectIcon{}
		out.Sandboxes = []string{}
	}
	return out
}

func (h instanceHandlers) readRecords(ctx context.Context, q store.ProjectQuery) ([]store.Project, error) {
	return store.Query(ctx, h.Store, func(r store.Reader) ([]store.Project, error) { return r.Projects(q) })
}

// listProjects lists the projects that were opened, the oldest first. The project of the location is among them.
func (h instanceHandlers) listProjects(ctx context.Context, in locationIn) ([]opencode.Project, error) {
	// The disk is looked at after the records are read, in describeRecord.
	current, err := h.getProject(ctx, in)
	if err != nil {
		return nil, err
	}
	records, err := h.readRecords(ctx, store.ProjectQuery{})
	if err != nil {
		return nil, err
	}
	// Join those that OpenCode calls the same: the oldest has the others as its sandboxes.
	out := []opencode.Project{}
	at := map[session.ProjectID]int{}
	for _, p := range records {
		next := describeRecord(p)
		i, known := at[p.ProjectID]
		if !known {
			at[p.ProjectID] = len(out)
			out = append(out, next)
			continue
		}
		first := &out[i]
		first.Time.Updated = max(first.Time.Updated, next.Time.Updated)
		if p.ProjectID != project.Global {
			first.Sandboxes = append(append(first.Sandboxes, next.Worktree), next.Sandboxes...)
		}
	}
	if _, known := at[current.ID]; !known {
		out = append(out, current)
	}
	return out, nil
}

// projectIn is a request about one project.
type projectIn struct {
	locationIn
	ProjectID session.ProjectID `path:"projectID"`
}

// projectPatch is the body of project.update.
type projectPatch struct {
	Name     *string                   `json:"name,omitzero"`
	Icon     *opencode.ProjectIcon     `json:"icon,omitzero"`
	Commands *opencode.ProjectCommands `json:"commands,omitzero"`
}

// findRecord returns the record that a request means: that of its location if OpenCode calls it so, else the oldest one
// that it calls so. Directories outside of repositories have no project of their own.
func (h instanceHandlers) findRecord(ctx context.Context, in projectIn) (*Location, session.RecordID, error) {
	l, err := h.Backend.Location(ctx, in.Location.Location)
	if err != nil {
		return nil, "", err
	}
	if in.ProjectID == l.ProjectID {
		return l, l.RecordID, nil
	}
	records, err := h.readRecords(ctx, store.ProjectQuery{})
	i := slices.IndexFunc(records, func(p store.Project) bool { return p.ProjectID == in.ProjectID })
	if err != nil || i < 0 {
		return nil, "", cmp.Or(err, error(session.NotFound("project", string(in.ProjectID))))
	}
	return l, records[i].ID, nil
}

// updateProject changes the name, the icon and the commands of a project. Commands are stored for clients: nothing runs
// them.
func (h instanceHandlers) updateProject(ctx context.Context, in struct {
	projectIn
	Body projectPatch `body:"optional"`
},
) (p opencode.Project, err error) {
	l, id, err := h.findRecord(ctx, in.projectIn)
	switch {
	case err != nil:
		return p, err
	case in.Body == (projectPatch{}) && in.ProjectID == l.ProjectID:
		return h.describeProject(ctx, l)
	case in.ProjectID == project.Global || id == "":
		return p, httpio.NewInvalid("path", "projectID",
			"the project %s cannot be changed: it is that of all directories without commits", in.ProjectID)
	}
	record, err := l.Projects.ChangeRecord(ctx, id, project.RecordChange{
		Name: in.Body.Name, Icon: (*store.ProjectIcon)(in.Body.Icon), Commands: (*store.ProjectCommands)(in.Body.Commands),
	})
	if err != nil {
		return p, httpio.WithPart("body", err)
	}
	return describeRecord(record.Project), nil
}

// AnnounceProject tells the global streams that the record of a project has changed.
func (d *dependencies) AnnounceProject(p store.Project) {
	d.notices.Send(notice{globalDirectory, p.ProjectID, kindProject, describeRecord(p)})
}

// projectDirectory is one directory of a project.
type projectDirectory struct {
	Directory string `json:"directory"`
}

// listProjectDirectories lists the main checkout and the linked worktrees of a project.
func (h instanceHandlers) listProjectDirectories(ctx context.Context, in projectIn) ([]projectDirectory, error) {
	l, id, err := h.findRecord(ctx, in)
	if errors.Is(err, &session.Error{Code: session.CodeNotFound}) {
		return []projectDirectory{}, nil
	}
	if err != nil {
		return nil, err
	}
	out := []projectDirectory{}
	if in.ProjectID == project.Global || id == "" {
		return append(out, projectDirectory{l.Worktree}), nil
	}
	records, err := h.readRecords(ctx, store.ProjectQuery{ID: id})
	for _, p := range records {
		for _, dir := range append([]string{p.Path}, project.Worktrees(p)...) {
			out = append(out, projectDirectory{dir})
		}
	}
	return out, err
}
