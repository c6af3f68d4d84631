package v1

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/command"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/formatter"
	"github.com/cairn-dev/cairn/internal/location/lsp"
	"github.com/cairn-dev/cairn/internal/location/mcp"
	"github.com/cairn-dev/cairn/internal/location/mcpauth"
	"github.com/cairn-dev/cairn/internal/location/plugin"
	"github.com/cairn-dev/cairn/internal/location/project"
	"github.com/cairn-dev/cairn/internal/location/pty"
	"github.com/cairn-dev/cairn/internal/location/skill"
	"github.com/cairn-dev/cairn/internal/models"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/attachment"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Backend gives access to locations and to the user's configuration. Errors that clients should see are *session.Error.
type Backend interface {
	// UserDirectories returns the folders of the user and of the installation.
	UserDirectories() UserDirectories
	// Location reads a location. Its directory is absolute and clean.
	Location(ctx context.Context, l session.Location) (*Location, error)
	// UserConfig returns the configuration that holds in every location.
	UserConfig(ctx context.Context) (map[string]jsontext.Value, error)
	// ForgetLocation makes the next Location read the location anew.
	ForgetLocation(l session.Location)
	// Configure sets members of the user's configuration.
	Configure(ctx context.Context, members map[string]jsontext.Value) error
}

// Worktrees are linked worktrees of the repository of a location.
type Worktrees interface {
	ListWorktrees(ctx context.Context, l session.Location, id session.ProjectID) ([]api.Worktree, error)
	// CreateWorktree makes a worktree and prepares it beside; done is called when it is prepared or cannot be.
	CreateWorktree(
		ctx context.Context, l session.Location, n api.NewWorktree, done func(api.Worktree, error),
	) (api.Worktree, error)
	RemoveWorktree(ctx context.Context, l session.Location, n api.WorktreeName) (api.SavedWork, error)
	ResetWorktree(ctx context.Context, l session.Location, n api.WorktreeName) (api.SavedWork, error)
}

// Location is a location as it was read at one moment.
type Location struct {
	Directory string
	Worktree  string // the top of its checkout, "/" outside of one
	ProjectID session.ProjectID
	RecordID  session.RecordID // "" if it could not be stored
	Earlier   []string         // directories whose sessions go on in this one, since the project was moved
	Git       bool

	Project  project.Project
	Projects *project.Finder // reads the checkout of Project
	Config   *config.Config
	Agents   *agent.Set
	Skills   *skill.Cache
	Models   *models.Set
	Tools    *tool.Registry
	MCP      *mcp.Set
	Logins   *mcpauth.Logins // at MCP servers
	// Formatters are those that run after edits.
	Formatters *formatter.Set
	Languages  *lsp.Manager
	Commands   func() *command.Set
	User       string // the name of the user; "" if unknown
	Files      Files

	// Expand returns the prompt of a command. It runs the shell commands of the command's template if permit allows it.
	Expand func(ctx context.Context, r api.ExpandRequest, permit command.Permit) (api.Expansion, error)
	// Terminal returns the default shell of a terminal and its environment.
	Terminal func() (pty.Order, error)
	// Overlay returns the variables that extensions of the location set for a terminal in the directory.
	Overlay func(ctx context.Context, directory string) (map[string]string, error)
}

// Files are the files of a location. Paths are relative to its directory. A path that leaves the location and its
// checkout, also by symbolic links, is an error of code denied.
type Files interface {
	List(path string) ([]opencode.FileNode, error)
	// Read returns an empty text for a missing file, as OpenCode does.
	Read(path string) (opencode.FileContent, error)
	Grep(ctx context.Context, pattern string) ([]opencode.Match, error)
	// Find returns the paths that match, the best first. Directories end with a slash; ignored files are not found.
	Find(ctx context.Context, q FileQuery) ([]string, error)
	attachment.Reader
}

// FileQuery searches files by name.
type FileQuery struct {
	Query              string
	Files, Directories bool
	Limit              int
}

// Credentials stores what providers are reached with, and runs browser logins.
type Credentials interface {
	SetKey(ctx context.Context, providerID, key string) error
	RemoveKey(ctx context.Context, providerID string) error
	// SetToken stores the token of a login. It is an error of code invalid for providers whose logins give no tokens.
	SetToken(ctx context.Context, providerID string, t auth.Token) error
	// Logins returns the providers that have a browser login, with the name of the login.
	Logins() map[string]string
	// LogIn runs a browser login and stores its result. It calls show once, with the address to open and the code to
	// enter there, "" without a code, and waits for the user.
	LogIn(ctx context.Context, l session.Location, providerID string, show func(url, code string)) error
	// PluginLogins returns how the plugins of a location log in, by provider, and LogInWith does so with a method.
	PluginLogins(ctx context.Context, l session.Location) (map[string]plugin.Auth, error)
	LogInWith(ctx context.Context, l session.Location, providerID string, method int, d plugin.LoginDialog) error
}

// Providers are the known providers, and which of them can be used.
type Providers struct {
	All       []opencode.Provider
	Connected []string          // ids
	Default   map[string]string // the default model of each
}

// UserDirectories are the directories of the user's files.
type UserDirectories struct{ Home, Config, State string }
