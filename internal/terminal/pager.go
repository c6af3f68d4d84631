package terminal

import (
	"cmp"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Page writes text of others, which may have styles of Paint: through the program that PAGER names, else less, if the
// stream is a terminal. It returns when the person has left that program. The caller replaces control characters.
func (s *Stream) Page(text string, env func(string) string) {
	file, isFile := s.w.(*os.File)
	if s.Err == nil && isFile && s.Terminal && env("TERM") != "dumb" {
		if command := cmp.Or(env("PAGER"), "less"); command != "cat" && runPager(command, file, text, env) {
			return
		}
	}
	_, _ = io.WriteString(s, text) // kept in err
}

// runPager reports whether the pager has shown the text.
func runPager(command string, to *os.File, text string, env func(string) string) bool {
	cmd := exec.Command("sh", "-c", command) //nolint:gosec // the person's own choice
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text), to, io.Discard
	cmd.Env = os.Environ()
	if env("LESS") == "" {
		cmd.Env = append(cmd.Env, "LESS=FRX") // leave at once what fits on the screen, show colours
	}
	err := cmd.Run()
	exit, exited := errors.AsType[*exec.ExitError](err)
	const notStarted = 126 // or 127: the shell has not found it
	return err == nil || exited && exit.ExitCode() < notStarted
}
