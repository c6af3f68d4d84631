package host

import (
	"os"
	"runtime"

	"github.com/cairn-dev/cairn/internal/tool/builtin"
)

// Supervise does the work of the process that a tool starts between cairn and a command, so that the command and all
// that it starts end with the call, however cairn ends. ok is false if args, those of this process without its name, do
// not ask for it. Mains call it first.
func Supervise(args []string) (code int, ok bool) {
	if len(args) == 0 || args[0] != builtin.SuperviseWord {
		return 0, false
	}
	return builtin.Supervise(args[1:]), true
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
	return []string{self, builtin.SuperviseWord}
}
