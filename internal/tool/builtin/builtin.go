// Package builtin holds the tools that every Location has: read, list, glob, grep, edit, write,
// apply_patch and bash.
//
// All of them work in one place, the Location's directory or the git worktree around it. A path is resolved first,
// links included; what it resolves to is what rules see, what people are shown, and what is opened, component by
// component through handles, so that a link put there in between changes nothing. What lies outside is asked for as
// external_directory before anything else. Every ask comes before the first effect.
//
// What a tool cannot do it says in an error written for the model. Everything is bounded: lines, bytes, entries,
// matches, time, memory.
package builtin

import (
	"log/slog"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Config says where the tools work and with what.
type Config struct {
	Directory string // the Location: absolute; relative paths start here
	Worktree  string // the git worktree that holds it, absolute; "" or "/" for none

	Shell string   // the shell that runs commands; "" takes bash, or /bin/sh where there is none
	Env   []string // NAME=value, given to commands beside the few variables that always pass
	Pass  []string // names of further variables of this process that commands get
	Deny  []string // names that commands never get, whoever asks, e.g. those of provider keys

	// Supervisor starts this program again so that it calls Supervise, e.g. {"/proc/self/exe", SuperviseWord}. Commands
	// then run below such a process, and nothing that they start outlives a timeout, an interrupt or this process.
	// Without it (and on systems other than Linux) what leaves the command's session and clears its environment is
	// not found, and if this process is killed only the command itself ends with it.
	Supervisor []string
	// Sandbox binds commands to what it says; nil leaves them free. It needs a Supervisor, which is what starts them bound.
	Sandbox *sandbox.Policy
	// Timeout is how long commands may take that do not say; 0 is two minutes.
	Timeout time.Duration
	// Processes is how many one command may have at the same time, itself included; 0 is MaxProcesses. A Supervisor counts.
	Processes int
	// Grace is the time between the polite end of a command (TERM) and the hard one (KILL); 0 is 800 ms, so that
	// everything is gone within a second (spec/guarantees G25).
	Grace time.Duration

	// Nearby are names of files with instructions; read shows those between a file and the Location. Of one directory the
	// first that exists counts.
	Nearby []string

	Outputs *tool.Outputs // where long output is kept; its files may be read without asking
	Limits  tool.Limits   // zero fields mean the defaults
	Images  ImageLimits   // of what read shows
	Files   *Files        // shared by all Locations of a process; nil: this one's own
	Log     *slog.Logger
}

// SuperviseWord is the argument of the program after which the arguments for Supervise follow.
const SuperviseWord = "__supervise"

// New returns the tools. They keep nothing open between calls.
func New(c Config) []tool.Tool {
	s := &site{config: c.orDefault()}
	return []tool.Tool{
		&readTool{s}, &listTool{s}, &globTool{s}, &grepTool{s}, &editTool{s}, &writeTool{s}, &patchTool{s}, &bashTool{s}, jobTool{},
	}
}

// orDefault is c with what must be there.
func (c Config) orDefault() Config {
	if c.Files == nil {
		c.Files = NewFiles()
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Images = c.Images.orDefault()
	return c
}

func decode[T any](call tool.Call) (T, error) { return tool.Input[T](call) }

func object(v any) jsontext.Value { return tool.Object(v) }

func textOutput(title, text string, structured any) tool.Output {
	return tool.TextOutput(title, text, structured)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// cutRunes returns the first n characters of s, and whether there were more.
func cutRunes(s string, n int) (string, bool) {
	if len(s) <= n {
		return s, false
	}
	count := 0
	for i := range s {
		if count == n {
			return s[:i], true
		}
		count++
	}
	return s, false
}

func trimDescription(md string) string { return strings.TrimSpace(md) }
