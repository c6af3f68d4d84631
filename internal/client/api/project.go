package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/cairn-dev/cairn/internal/session"
)

// ProjectRecord is a project in the form of OpenCode 2.0. The fields from RecordID on are cairn's, with all=1 only: then
// a list has each record, else the records with one id are one project.
type ProjectRecord struct {
	ID        session.ProjectID `json:"id"`
	Canonical string            `json:"canonical"` // root of the main checkout, or the directory outside of git
	VCS       string            `json:"vcs,omitzero"`
	Name      string            `json:"name,omitzero"`
	Icon      ProjectIcon       `json:"icon,omitzero"`
	Commands  ProjectCommands   `json:"commands,omitzero"`
	Time      ProjectTime       `json:"time"`
	Sandboxes []string          `json:"sandboxes"` // linked worktrees

	RecordID  session.RecordID `json:"recordID,omitzero"`
	Root      string           `json:"root,omitzero"`      // root commit
	Remote    string           `json:"remote,omitzero"`    // host and path of the remote "origin"
	Earlier   []string         `json:"earlier,omitzero"`   // where it was before, the newest last
	Missing   bool             `json:"missing,omitzero"`   // the directory does not exist
	Replaced  bool             `json:"replaced,omitzero"`  // another repository or directory may be in its place
	Unlinked  bool             `json:"unlinked,omitzero"`  // LocationInfo.Unlinked
	Sessions  int              `json:"sessions,omitzero"`  // up to MaxElsewhere, without those of subagents
	Approvals int              `json:"approvals,omitzero"` // saved permissions
	// Dropped are the saved permissions that a change of Canonical has removed, with the records that the directory had.
	Dropped []Approval `json:"dropped,omitzero"`
}

// ProjectCommands are stored for clients of OpenCode. cairn never runs one.
type ProjectCommands struct {
	Start string `json:"start,omitzero"`
}

// ProjectIcon is how clients draw a project.
type ProjectIcon struct {
	URL      string `json:"url,omitzero"`
	Override string `json:"override,omitzero"`
	Color    string `json:"color,omitzero"`
}

// ProjectTime holds when a project was first opened, last changed, and when a session of it last changed.
type ProjectTime struct {
	Created int64 `json:"created"`
	Updated int64 `json:"updated"`
	Active  int64 `json:"active"`
}

// ProjectPatch changes a project; nil fields stay. Canonical binds its record to the project of another directory. DryRun
// changes nothing, and returns the project as it is, with what Canonical would drop.
type ProjectPatch struct {
	Canonical *string          `json:"canonical,omitzero"`
	Name      *string          `json:"name,omitzero"`
	Icon      *ProjectIcon     `json:"icon,omitzero"`
	Commands  *ProjectCommands `json:"commands,omitzero"`
	DryRun    bool             `json:"dryRun,omitzero"`
}

// Projects lists the records of projects, the oldest first.
func (c *Client) Projects(ctx context.Context) ([]ProjectRecord, error) {
	return get[[]ProjectRecord](ctx, c, apiPath("project"), url.Values{})
}

// Project returns a project, by its record or by what OpenCode calls it.
func (c *Client) Project(ctx context.Context, id session.ProjectID) (ProjectRecord, error) {
	return get[ProjectRecord](ctx, c, apiPath("project", string(id)), url.Values{})
}

// ChangeProject changes a project and returns it.
func (c *Client) ChangeProject(ctx context.Context, id session.ProjectID, p ProjectPatch) (out ProjectRecord, err error) {
	err = c.sendCall(ctx, call{method: http.MethodPatch, path: apiPath("project", string(id)), in: p, out: &out})
	return out, err
}

// ForgetProject deletes the record of a project with its saved permissions. Its sessions stay.
func (c *Client) ForgetProject(ctx context.Context, id session.RecordID) error {
	return c.change(ctx, http.MethodDelete, apiPath("project", string(id)), nil)
}
