package store

import "github.com/cairn-dev/cairn/internal/session"

// Project is the record of a project: a git repository with all its worktrees, or a directory outside of git. Its id
// is random and never derived from contents, so that a copy of a repository is a project of its own.
type Project struct {
	ID        session.RecordID  `json:"id"`
	ProjectID session.ProjectID `json:"projectID"`        // what OpenCode calls it; several records may have the same
	Path      string            `json:"path"`             // root of the main checkout, or the directory outside of git
	Earlier   []string          `json:"earlier,omitzero"` // paths before, the newest last, at most MaxEarlier
	Common    string            `json:"common,omitzero"`  // git common directory; "" outside of git
	File      string            `json:"file,omitzero"`    // identity of Common, or of Path outside of git; "" if unknown
	// PathFile is the identity of Path of a repository; "" if unknown, and outside of git.
	PathFile string `json:"pathFile,omitzero"`
	// Worktrees are the directories in which linked worktrees were seen, the newest last, at most MaxWorktrees. One that
	// was moved has several.
	Worktrees []ProjectWorktree `json:"worktrees,omitzero"`

	Root     string          `json:"root,omitzero"`     // root commit; "" without commits; outside of git that of a removed repository
	Remote   string          `json:"remote,omitzero"`   // host and path of the remote "origin"
	Name     string          `json:"name,omitzero"`     // given by the user
	Icon     ProjectIcon     `json:"icon,omitzero"`     // given by the user
	Commands ProjectCommands `json:"commands,omitzero"` // given by the user
	Created  int64           `json:"created,omitzero"`  // milliseconds, as Updated
	Updated  int64           `json:"updated,omitzero"`
}

// ProjectWorktree is a directory in which a linked worktree was seen.
type ProjectWorktree struct {
	Directory string `json:"directory"`
	File      string `json:"file"` // identity of its .git/worktrees/NAME, which git keeps when it moves the worktree
}

// ProjectIcon is how clients draw a project.
type ProjectIcon struct {
	URL      string `json:"url,omitzero"`
	Override string `json:"override,omitzero"`
	Color    string `json:"color,omitzero"`
}

// ProjectCommands are the commands of a project for OpenCode's clients. cairn stores them and never runs one.
type ProjectCommands struct {
	Start string `json:"start,omitzero"`
}

// ProjectQuery selects the records that have one of the values; without any value it selects all.
type ProjectQuery struct {
	ID                 session.RecordID
	Common, Path, File string
}

// MaxEarlier bounds the earlier paths of a project.
const MaxEarlier = 8

// MaxWorktrees bounds the worktrees of a project.
const MaxWorktrees = 64

// MaxProjects bounds the records that a query returns.
const MaxProjects = 10_000

// MaxElsewhere bounds what CountElsewhere counts.
const MaxElsewhere = 1000

// ProjectReader reads the records of projects.
type ProjectReader interface {
	// Projects returns up to MaxProjects records, oldest first, by (created, id). Damaged rows are left out.
	Projects(q ProjectQuery) ([]Project, error)
	// CountElsewhere returns the number, up to MaxElsewhere, of sessions that are not the record's, but of another one with
	// its root commit or path, or of none and with its project id or root commit as their project. Archived ones and those
	// of subagents do not count.
	CountElsewhere(p Project) (int, error)
}

// ProjectWriter writes the records of projects.
type ProjectWriter interface {
	// PutProject inserts or replaces the record.
	PutProject(p Project) error
	// DeleteProject removes the record with its approvals and reports whether it existed. Its sessions become those of heir,
	// or of no record if heir is "": then they can be adopted.
	DeleteProject(id, heir session.RecordID) (existed bool, err error)
	// AdoptSessions gives the record the sessions that have none and have its project id, its root commit or "global" as
	// their project: those in the directory and, of a repository, below.
	AdoptSessions(p Project, dir string) error
}
