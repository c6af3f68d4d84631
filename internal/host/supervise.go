package host

import (
	"time"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// RunSupervisor runs this process as one of those that a tool starts between cairn and a command: the supervisor, which
// ends the command and its descendants with the call, however cairn ends, or the process that enters the sandbox. ok is
// false if args, the arguments of this process without its name, ask for neither. A main function calls it first.
func RunSupervisor(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case process.SuperviseWord:
		return process.RunSupervisor(), true
	case sandbox.Word:
		return sandbox.Enter(args[1:]), true
	default:
		return 0, false
	}
}

// longestTimeout is the maximum in the schema of the tool bash.
const longestTimeout = 10 * time.Minute

// commandTimeout returns the default timeout of commands; 0 if the environment sets none.
func commandTimeout(getenv func(string) string) time.Duration {
	ms := config.PositiveNumber(getenv, "EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS")
	return time.Duration(min(ms, longestTimeout.Milliseconds())) * time.Millisecond
}
