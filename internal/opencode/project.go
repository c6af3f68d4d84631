package opencode

import "github.com/cairn-dev/cairn/internal/session"

// Project is a repository that sessions belong to.
type Project struct {
	ID        session.ProjectID `json:"id"`
	Worktree  string            `json:"worktree"`
	VCS       string            `json:"vcs,omitzero" enum:"git"`
	Name      string            `json:"name,omitzero"`
	Icon      ProjectIcon       `json:"icon,omitzero"`
	Commands  ProjectCommands   `json:"commands,omitzero"`
	Time      ProjectTime       `json:"time"`
	Sandboxes []string          `json:"sandboxes"`
}

// ProjectIcon is how clients draw a project.
type ProjectIcon struct {
	URL      string `json:"url,omitzero"`
	Override string `json:"override,omitzero"`
	Color    string `json:"color,omitzero"`
}

// ProjectCommands are commands of a project. Start is what OpenCode runs in a new worktree.
type ProjectCommands struct {
	Start string `json:"start,omitzero"`
}

// ProjectTime holds the times of the first and the last use of a project.
type ProjectTime struct {
	Created int64 `json:"created"`
	Updated int64 `json:"updated"`
}

// ChangedFile is a file that differs from the commit. Patch is set only on request.
type ChangedFile struct {
	File      string `json:"file"`
	Patch     string `json:"patch,omitzero"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Status    string `json:"status" enum:"added,deleted,modified"`
}

// GlobalSession is a session in a list over all projects.
type GlobalSession struct {
	Session
	Project ProjectSummary `json:"project"`
}

// ProjectSummary names a project.
type ProjectSummary struct {
	ID       session.ProjectID `json:"id"`
	Worktree string            `json:"worktree"`
}

// GlobalSessionOf converts a session with its project.
func GlobalSessionOf(s *session.Session) GlobalSession {
	return GlobalSession{SessionOf(s), ProjectSummary{s.ProjectID, worktreeOf(s)}}
}
