package builtin

import (
	"github.com/cairn-dev/cairn/internal/permission"
	"github.com/cairn-dev/cairn/internal/tool"
)

// Requests are what a call would ask for as things are now, in order: one of bash about a command, or one that reads, lists
// or changes a path. Of any other action, and of a path that cannot be resolved, it is the resource as it stands. Nothing
// is asked, run or changed.
func Requests(c Config, action, resource string) []tool.Request {
	s := &site{config: c}
	plain := []tool.Request{{Action: action, Resources: []string{resource}}}
	if action == permission.Shell {
		return (&bashTool{s}).requests(resource)
	}
	if action != "read" && action != "list" && action != permission.Edit {
		return plain
	}
	p, err := s.locate(resource)
	switch {
	case err != nil:
		return plain
	case action == "read" && s.managed(p):
		return nil
	}
	out := s.beyond([]place{p})
	if action != permission.Edit {
		out = p.outside()
	}
	return append(out, tool.Request{Action: action, Resources: []string{p.resource()}})
}

func (t *bashTool) requests(command string) []tool.Request {
	dir, err := t.locate("")
	if err != nil {
		return nil
	}
	program, _ := t.config.ShellPath() // without one nothing runs
	return t.commandRequests(program, dir, bashInput{Command: command})
}
