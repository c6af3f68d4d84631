// Package exec has the tools that run commands: bash and job.
//
// A command runs below a supervisor process where the system allows it, so that nothing it starts outlives a timeout,
// an interrupt or the server. It gets an environment of listed variables, and a sandbox if the configuration has one.
package exec

import (
	"log/slog"
	"sync"
	"time"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/tool"
	"github.com/cairn-dev/cairn/internal/tool/linepath"
	"github.com/cairn-dev/cairn/internal/tool/process"
	"github.com/cairn-dev/cairn/internal/tool/workpath"
)

// Config configures the tools of one Location.
type Config struct {
	Paths workpath.Resolver
	// Repository is the directory of git if the worktree's lies outside of it; "" if not. Rules name it .git.
	Repository string

	Shell string   // the shell that runs commands; "" takes bash, or /bin/sh if there is no bash
	Env   []string // NAME=value, added to the environment of commands
	Pass  []string // names of further variables of this process that commands get
	Deny  []string // names of variables that commands never get, e.g. those of provider keys

	// Supervisor is the command line that starts this program so that it calls process.RunSupervisor, e.g.
	// process.SupervisorCommand(). Without it, and on systems other than Linux, a process that leaves the command's session and clears
	// its environment is not found, and if this process is killed, only the command itself ends with it.
	Supervisor []string
	// Sandbox returns what a command may do. It needs a Supervisor, which starts it confined.
	Sandbox func(r tool.CellRequest) (tool.Cell, error)
	// Outside are patterns for commands that run outside of the sandbox although no person approved them.
	Outside []string
	// NoProject: the Location is no project, such as the home directory. In the sandbox, commands write only what they
	// were permitted by name.
	NoProject bool
	// Timeout ends a command that sets no timeout itself; 0 is two minutes.
	Timeout time.Duration
	// Processes bounds the processes of one command at a time, itself included; 0 is process.MaxProcesses. It needs a Supervisor.
	Processes int
	// KillDelay is the time between SIGTERM and SIGKILL; 0 is 800 ms, so that everything has ended within a second.
	KillDelay time.Duration
	// DrainTime bounds the wait for output of processes that a command leaves behind; 0 is 250 ms.
	DrainTime time.Duration

	Outputs *tool.Outputs // where long output is stored
	Limits  tool.Limits   // of output; zero fields mean the defaults
	Log     *slog.Logger
}

// execTools is the state that the tools of a Location share.
type execTools struct {
	config Config
	warn   sync.Once // says that nothing confines commands

	refused refusedCommands

	rulesets sandbox.ReadRulesets
	spare    process.Spare
}

// newPlace returns where command lines run.
func (s *execTools) newPlace() linepath.Place {
	return linepath.Place{Paths: s.config.Paths, Repository: s.config.Repository, NoProject: s.config.NoProject}
}

func newExecTools(c Config) *execTools {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &execTools{config: c}
}

// New returns the tools. What they keep open between calls is closed within a minute.
func New(c Config) []tool.Tool { return []tool.Tool{&bashTool{newExecTools(c)}, jobTool{}} }

// Requests returns the permission requests of a command in the Location that no person has approved, in order. It asks
// and runs nothing.
func Requests(c Config, command string) []tool.Request { return planUnasked(c, command).requests }

// planUnasked plans a command in the Location that no person has approved.
func planUnasked(c Config, command string) commandPlan {
	t := &bashTool{newExecTools(c)}
	dir, err := c.Paths.Resolve("")
	if err != nil {
		return commandPlan{}
	}
	program, _ := c.ShellPath() // "" if there is no shell, which is then reported when the command runs
	as := tool.Confinement{Mode: session.SandboxWrites, IfPossible: true}
	return t.planCommand(bashInput{Command: command}, commandPlace{program: program, dir: dir, as: as})
}
