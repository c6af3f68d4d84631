package sandbox

import (
	"github.com/cairn-dev/cairn/internal/finding"
)

// Examine says which parts of the sandbox for commands this system enforces.
func Examine() []finding.Finding {
	if err := Check(); err != nil {
		return []finding.Finding{{
			Level: finding.Note, What: "sandbox",
			Detail: "not available for commands: " + err.Error() + "; those that run without an ask are not confined, " +
				"and none run with --sandbox or in plan mode",
		}}
	}
	found := []finding.Finding{{Level: finding.OK, What: "sandbox", Detail: "files, network and system calls of commands"}}
	const withoutNamespace = "protected files are restored after a command, not read-only, and no commands run in the " +
		"mode strict and in plan mode"
	for _, part := range []struct {
		err     error
		without string
	}{
		{CheckSignals(), "commands can send signals to other processes of the user"},
		{CheckNamespace(), withoutNamespace},
	} {
		if part.err != nil {
			found = append(found, finding.Finding{
				Level: finding.Note, What: "sandbox", Detail: part.without + ": " + part.err.Error(),
			})
		}
	}
	return found
}
