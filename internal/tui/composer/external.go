package composer

import (
	"cmp"
	"fmt"
	"os/exec"
	"strings"
)

// EditorCommand returns the command of the user's editor, VISUAL or EDITOR with its arguments, on a file. As in git, sh
// reads one with quotes or other signs of a shell.
func EditorCommand(env func(string) string, file string) (*exec.Cmd, error) {
	editor := cmp.Or(strings.TrimSpace(env("VISUAL")), strings.TrimSpace(env("EDITOR")), "vi")
	if strings.ContainsAny(editor, "|&;<>()$`\\\"'*?[#~=%") {
		return exec.Command("sh", "-c", editor+` "$@"`, editor, file), nil
	}
	words := strings.Fields(editor)
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, fmt.Errorf("the editor %s is not found; set VISUAL or EDITOR", words[0])
	}
	return exec.Command(words[0], append(words[1:], file)...), nil
}
