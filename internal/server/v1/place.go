package v1

import (
	"context"
	"net/http"
	"path/filepath"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/pty"
	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
)

// Places tells what directories offer. Errors that callers should see are *session.Error. The directory of a location is
// absolute and clean.
type Places interface {
	// Home returns the folders of this user and of this installation.
	Home() Home
	Place(ctx context.Context, l session.Location) (Place, error)
	Offers
	Settings
	Checkouts
	Files
	// Terminal returns what a terminal at the location is when nobody says more: its shell, and what that gets to know.
	Terminal(ctx context.Context, l session.Location) (pty.Order, error)
}

// Offers is what sessions at a location can use. Nothing of it holds a secret.
type Offers interface {
	// Agents returns the agents, the default one first.
	Agents(ctx context.Context, l session.Location) ([]opencode.Agent, error)
	Commands(ctx context.Context, l session.Location) ([]opencode.Command, error)
	// Expand makes the prompt of a command, running what its template wants to have run.
	Expand(ctx context.Context, l session.Location, r api.ExpandRequest) (api.Expanded, error)
	Skills(ctx context.Context, l session.Location) ([]opencode.Skill, error)
	Tools(ctx context.Context, l session.Location) ([]opencode.Tool, error)
	Providers(ctx context.Context, l session.Location) (Providers, error)
}

// Settings is the configuration, and the keys of providers.
type Settings interface {
	Config(ctx context.Context, l session.Location) (map[string]jsontext.Value, error)
	// UserConfig returns what holds everywhere.
	UserConfig(ctx context.Context) (map[string]jsontext.Value, error)
	// Configure sets members of the user's own configuration.
	Configure(ctx context.Context, members map[string]jsontext.Value) error
	SetKey(ctx context.Context, providerID, key string) error
	RemoveKey(ctx context.Context, providerID string) error
	// SetToken keeps what a login gave at a provider whose logins give tokens; at another it is an error of code invalid.
	SetToken(ctx context.Context, providerID string, t auth.Token) error
	// Logins returns the providers at which one can log in with a browser, with what that is called.
	Logins() map[string]string
	// LogIn logs in at one of these and keeps what that gives. It calls say once, with where a person goes and the code to type
	// there, "" if there is none, and waits for the person.
	LogIn(ctx context.Context, l session.Location, providerID string, say func(url, code string)) error
}

// Files is what people see of the files of a location. Nothing of it leaves the location or its checkout, whatever links
// say: that is an error of code denied. Paths are relative to the location's directory.
type Files interface {
	List(ctx context.Context, l session.Location, path string) ([]opencode.FileNode, error)
	// Read returns an empty text for a file that is not there, as OpenCode does.
	Read(ctx context.Context, l session.Location, path string) (opencode.FileContent, error)
	Grep(ctx context.Context, l session.Location, pattern string) ([]opencode.Match, error)
	// Find returns the paths that fit, the best first; a directory's ends with a slash. What is ignored is not found.
	Find(ctx context.Context, l session.Location, w Wanted) ([]string, error)
	// Attached reads the page of a file, or the directory, that a prompt of the session brings: what the tool read says, and
	// the file as a whole if it is a picture or the like.
	Attached(ctx context.Context, l session.Location, id session.ID, page opencode.Page) (text string, whole *session.File, err error)
}

// Wanted is what is looked for by its name.
type Wanted struct {
	Query              string
	Files, Directories bool
	Limit              int
}

// Checkouts is what git knows of a location; outside of a checkout all is empty.
type Checkouts interface {
	// Branch returns the branch that is checked out and the repository's default one.
	Branch(ctx context.Context, l session.Location) (branch, standard string, err error)
	Changes(ctx context.Context, l session.Location, with Compare) ([]opencode.ChangedFile, error)
	Diff(ctx context.Context, l session.Location) (string, error)
	// Patch changes the files. A patch that does not fit is an error of code conflict.
	Patch(ctx context.Context, l session.Location, patch string) error
}

// Compare says what changes are wanted.
type Compare struct {
	Branch  bool // since the default branch was left, not since the last commit
	Patches bool
	Context int // lines around a change
}

// Place is a location as it was read at one moment.
type Place struct {
	Directory string
	Worktree  string // the top of its checkout, "/" outside of one
	ProjectID session.ProjectID
	Git       bool
}

// Providers are those that are known, and which of them can be used.
type Providers struct {
	All       []opencode.Provider
	Connected []string          // ids
	Default   map[string]string // the model of each that is taken if nobody chooses
}

func (p Providers) usable() []opencode.Provider {
	out := []opencode.Provider{}
	for _, v := range p.All {
		if slices.Contains(p.Connected, v.ID) {
			out = append(out, v)
		}
	}
	return out
}

// Home is where things of the user live.
type Home struct{ Home, Config, State string }

// locate returns the location that the request is about, without links: sessions and their events know it by that name.
// There are no workspaces: whoever names one means another server.
func (a *API) locate(r *http.Request) (session.Location, error) {
	l, _, err := httpio.Locator{QueryDirectory: "directory", QueryWorkspace: "workspace", Directory: a.directory, Relative: true}.Locate(r)
	if err == nil && l.WorkspaceID != "" {
		err = session.NotFound("workspace", l.WorkspaceID)
	}
	if real, failed := filepath.EvalSymlinks(filepath.FromSlash(l.Directory)); failed == nil {
		l.Directory = filepath.ToSlash(real)
	}
	return l, err
}

// place returns what the directory of the request is.
func (a *API) place(r *http.Request) (Place, error) {
	return found(a, r, a.places.Place)
}

// found is what the location of the request has of something.
func found[T any](a *API, r *http.Request, of func(context.Context, session.Location) (T, error)) (v T, err error) {
	l, err := a.locate(r)
	if err != nil {
		return v, err
	}
	return of(r.Context(), l)
}

// offer answers with it.
func offer[T any](a *API, w http.ResponseWriter, r *http.Request, of func(context.Context, session.Location) (T, error)) error {
	v, err := found(a, r, of)
	if err != nil {
		return err
	}
	return write(w, v)
}
