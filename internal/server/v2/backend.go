package v2

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	templates "github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/server/attachment"
	"github.com/cairn-dev/cairn/internal/session"
)

// Locations describes what a directory offers. Errors that clients should see are *session.Error. The directory is
// absolute and clean.
type Locations interface {
	Location(ctx context.Context, l session.Location) (api.LocationInfo, error)
	Agents(ctx context.Context, l session.Location) ([]session.Agent, error)
	// Skills returns the valid skills, then those with a Problem.
	Skills(ctx context.Context, l session.Location) ([]api.Skill, error)
	// Plugins loads the plugins and returns how they are. What concerns all of them has an id of no plugin.
	Plugins(ctx context.Context, l session.Location) ([]api.Plugin, error)
	Commands(ctx context.Context, l session.Location) ([]api.Command, error)
	// Expand returns the prompt of a command. It runs the shell commands of the command's template if permit allows it.
	Expand(ctx context.Context, l session.Location, r api.ExpandRequest, permit templates.Permit) (api.Expansion, error)
	// Models and Providers return those that can be used, without secrets.
	Models(ctx context.Context, l session.Location) ([]api.Model, error)
	Providers(ctx context.Context, l session.Location) ([]api.Provider, error)
	// Servers returns the MCP servers.
	Servers(ctx context.Context, l session.Location) (*mcp.Set, error)
	// ForgetLocation makes the next use of a location read it anew.
	ForgetLocation(l session.Location)
}

// Worktrees are linked worktrees of the repository of a location. A request for another project is of code not-found.
type Worktrees interface {
	ListWorktrees(ctx context.Context, l session.Location, id session.ProjectID) ([]api.Worktree, error)
	// CreateWorktree makes a worktree and prepares it; done, which may be nil, is called when it is prepared or cannot be.
	CreateWorktree(
		ctx context.Context, l session.Location, n api.NewWorktree, done func(api.Worktree, error),
	) (api.Worktree, error)
	RemoveWorktree(ctx context.Context, l session.Location, n api.WorktreeName) (api.SavedWork, error)
	ResetWorktree(ctx context.Context, l session.Location, n api.WorktreeName) (api.SavedWork, error)
	// PrepareWorktree runs the commands that prepare a worktree again.
	PrepareWorktree(ctx context.Context, l session.Location, n api.WorktreeName) (api.Worktree, error)
}

// Files lists and searches the files of a location. A path that leaves the location and its checkout, also by symbolic
// links, is an error of code denied.
type Files interface {
	ListFiles(ctx context.Context, l session.Location, path string) ([]api.FileEntry, error)
	// FindFiles returns what matches, the best first. Ignored files are not found.
	FindFiles(ctx context.Context, l session.Location, q api.FileQuery) ([]api.FileEntry, error)
	// OpenAttachments returns the reader of the files that prompts name.
	OpenAttachments(ctx context.Context, l session.Location) (attachment.Reader, error)
}

// Explainer says where the settings of a key, and of the keys below it, come from; "" is all keys.
type Explainer interface {
	Explain(ctx context.Context, l session.Location, key string) (jsontext.Value, error)
	// ExplainInstruction says whether the file, an absolute path or one below the location, is in the system context.
	ExplainInstruction(ctx context.Context, l session.Location, file string) (api.InstructionVerdict, error)
}

// RequestInspector shows the next requests of sessions. Nothing is sent or stored.
type RequestInspector interface {
	NextRequest(ctx context.Context, id session.ID, full bool) (api.ContextRequest, error)
	PreviewCompaction(
		ctx context.Context, id session.ID, r session.CompactionRequest, full bool,
	) (api.CompactionPreview, error)
}

// Doctor reports the state of the process and of its data.
type Doctor interface {
	Examine(ctx context.Context) (jsontext.Value, error)
}
