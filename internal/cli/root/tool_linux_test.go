package root_test

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/cairn-dev/cairn/internal/proctable"
	toolprocess "github.com/cairn-dev/cairn/internal/tool/process"
)

// runAsTool runs the command of its arguments as a process that a tool started, below a process with the argument of
// supervisors: commands of other tests, which run at the same time, end the processes with a call mark that have none.
func runAsTool() {
	if os.Args[1] != toolprocess.SuperviseWord {
		os.Exit(runProgram(os.Args[0], append([]string{toolprocess.SuperviseWord}, os.Args[1:]...)))
	}
	if err := proctable.SetCallMark(proctable.NewCallMark()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(125)
	}
	os.Exit(runProgram(os.Args[2], os.Args[3:]))
}

// runProgram runs a program with the files of this process and returns its exit code, 125 without one.
func runProgram(name string, args []string) int {
	cmd := exec.Command(name, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return 125
	}
	return cmd.ProcessState.ExitCode()
}
