package tui

import (
	"context"
	"io"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tui/composer"
	"github.com/cairn-dev/cairn/internal/tui/modelfile"
)

// Options say what the interface works on.
type Options struct {
	Client  *api.Client
	Session *session.Session    // to continue; nil begins one with the first prompt
	Model   *session.ModelRef   // of the next prompt; nil is the session's
	Agent   string              // of the next prompt; "" is the session's
	Effort  string              // of the model, for the next prompt; "" is the model's own
	Prompt  string              // sent at once; "" sends nothing
	Sandbox session.SandboxMode // of sessions that begin here
	Where   string              // the directory or the server's URL, for the status line
	Remote  bool                // the work goes on without this process
	Store   composer.DraftFile  // of the typed text
	Models  modelfile.File      // of favourite and recent models
	Theme   string              // a name of style.New; "" is the default
	Keys    map[string]string   // the user's bindings: a command's name and its key
	// FindForeign names the other programs whose sessions can be imported on this machine; nil on another one.
	FindForeign func() []string
	// ReadTrust reads which of the project's files wait for trust; nil on another machine.
	ReadTrust func(ctx context.Context) (Trust, error)
	// Secrets are what an export must not contain.
	Secrets func(ctx context.Context) ([]string, error)
	// StoreSetting stores a setting in the user's configuration and returns its file; nil stores nothing.
	StoreSetting func(ctx context.Context, key, value string) (file string, err error)
	Env          func(string) string
	// List reads as many pages of sessions as it takes.
	List  func(context.Context, *api.Client, api.SessionQuery, int) ([]*session.Session, error)
	In    io.Reader
	Out   io.Writer
	Notes <-chan string // of the process, to be shown; may be nil
	Vi    bool          // the composer has the keys of vi
	Mouse bool          // the wheel scrolls, a click opens, and a drag copies
	Quiet bool          // no bell, notification or title
}

// Trust is the content of a project's files that waits for trust.
type Trust struct {
	Body   []string                    // the content, with the reasons
	Accept func(context.Context) error // trusts what Body shows; nil if nothing waits, or it cannot be trusted
}

// Result says how the interface was left.
type Result struct {
	SessionID session.ID // "" without a session
	Working   bool       // the session was working
	Leave     Leave
	PID       int // of the process of this machine that goes on with the work
}

// Leave says what happens to running work when the interface is left.
type Leave string

// The ways to leave.
const (
	LeaveIdle       Leave = ""           // nothing works
	LeaveStopped    Leave = "stopped"    // the work was stopped
	LeaveBackground Leave = "background" // it goes on in another process
)
