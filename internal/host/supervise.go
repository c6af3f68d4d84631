package host

import (
	"os"
	"runtime"
	"time"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool/exec"
)

// Supervise does the work of the processes that a tool starts between cairn and a command: one sees to it that the command
// and all that it starts end with the call, however cairn ends, the other binds the command to a sandbox. ok is false if args, those of this process without its name, do
// not ask for it. Mains call it first.
func Supervise(args []string) (code int, ok bool) {
	if len(args) == 0 {
		return 0, false
	}
	switch args[0] {
	case exec.SuperviseWord:
		return exec.Supervise(args[1:]), true
	case sandbox.Word:
		return sandbox.Enter(args[1:]), true
	default:
		return 0, false
	}
}

// longestTimeout is what the schema of the tool bash allows.
const longestTimeout = 10 * time.Minute

// patience is how long commands may take that do not say, 0 if the environment does not name a time.
func patience(getenv func(string) string) time.Duration {
	ms := config.PositiveNumber(getenv, "EXPERIMENTAL_BASH_DEFAULT_TIMEOUT_MS")
	return time.Duration(min(ms, longestTimeout.Milliseconds())) * time.Millisecond
}

// supervisor is how this program is started for that; nil where commands are run without.
func supervisor() []string {
	if runtime.GOOS != "linux" {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	return []string{self, exec.SuperviseWord}
}
