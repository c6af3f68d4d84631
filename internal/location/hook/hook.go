// Package hook runs the commands of the key hooks of the configuration, in the shape of Claude Code's hooks, as
// extensions of the engine.
//
//	config.Hook   what the configuration says: an event, a matcher, a command
//	New           one extension for each of them                                       this file, points.go
//	names.go      the tools and members of input under Claude Code's names, and back
//	run.go        one run of a command: JSON on its standard input, bounded in time and output
//	verdict.go    what its exit code and its output decide
//
// A command runs with the rights of the user, outside of the sandbox, in a clean environment and below a supervisor. It
// bears the mark of tools: the server does not take its requests for those of a person. What it leaves running is ended
// with it.
package hook

import (
	"cmp"
	"log/slog"
	"time"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// DefaultTimeout ends a command whose hook sets no timeout, as in Claude Code.
const DefaultTimeout = time.Minute

// Options of the hooks of a location.
type Options struct {
	Hooks       []config.Hook // those that are not active do not run
	Directory   string        // where the commands run
	Worktree    string        // "" outside of a repository
	Environment process.Environment
	Supervisor  []string // see process.Spec
	Logger      *slog.Logger
	// ServerTool returns the MCP server of a tool and the tool's name there; ok is false for other tools. It may be nil.
	ServerTool func(name string) (server, remote string, ok bool)
	// Show shows a text of a hook to people who follow the session. It may be nil.
	Show func(id session.ID, hook, text string)
}

// Set holds the hooks of a location. Safe for concurrent use.
type Set struct {
	options Options
	hooks   []*command
}

// command is a hook that can run.
type command struct {
	config.Hook
	set *Set
}

// New returns the active hooks.
func New(o Options) *Set {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Show == nil {
		o.Show = func(session.ID, string, string) {}
	}
	s := &Set{options: o}
	for _, h := range o.Hooks {
		if h.Active {
			s.hooks = append(s.hooks, &command{h, s})
		}
	}
	return s
}

// Extensions returns the hooks as extensions, in their order.
func (s *Set) Extensions() (out []extension.Extension) {
	for _, c := range s.hooks {
		e := extension.Extension{ID: c.ID, MayAllow: c.MayAllow, Timeout: c.timeout()}
		c.connect(&e)
		out = append(out, e)
	}
	return out
}

// timeout returns the time that the command has.
func (c *command) timeout() time.Duration { return cmp.Or(c.Timeout.Duration(), DefaultTimeout) }

// projectDirectory is the directory that commands find in CLAUDE_PROJECT_DIR and CAIRN_PROJECT_DIR.
func (s *Set) projectDirectory() string { return cmp.Or(s.options.Worktree, s.options.Directory) }
