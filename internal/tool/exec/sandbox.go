package exec

import (
	"strings"

	"github.com/cairn-dev/cairn/internal/sandbox"
	"github.com/cairn-dev/cairn/internal/tool"
)

// sandboxCommand returns the command line that runs argv in the sandbox, or argv itself if the configuration has no
// sandbox. If the sandbox is not available, it fails: a command never runs unconfined instead.
func (s *execTools) sandboxCommand(argv []string) ([]string, error) {
	p := s.config.Sandbox
	if p == nil {
		return argv, nil
	}
	refuse := func(why string) ([]string, error) {
		return nil, tool.Failf("Commands must run in the sandbox, but %s. No command was run. Tell the user.", why)
	}
	if err := sandbox.Check(); err != nil {
		return refuse("this system cannot provide it: " + err.Error())
	}
	if len(s.config.Supervisor) == 0 {
		return refuse("this program cannot start itself to set it up")
	}
	if hidden := p.FindExposed(); hidden != "" {
		return refuse("it cannot hide " + hidden + ", which lies below a directory that commands may write to")
	}
	return p.WrapCommand(s.config.Supervisor[0], argv)
}

// describeSandbox tells the model what the sandbox forbids.
func (s *execTools) describeSandbox() string {
	p := s.config.Sandbox
	if p == nil {
		return ""
	}
	text := "\n- Commands run in a sandbox: they write only below " + strings.Join(p.Write, ", ")
	if p.Network {
		return text + ". Temporary files belong into $TMPDIR."
	}
	return text + ", and there is no network. Temporary files belong into $TMPDIR."
}
