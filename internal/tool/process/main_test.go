package process_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/tool/process"
)

// childWord is the argument of the test program that makes it a child; the mode follows.
const childWord = "__child"

// The test program is its own supervisor, and a child.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.SuperviseWord {
		syscall.Exit(process.RunSupervisor()) // the race detector would wait a second in os.Exit
	}
	if len(os.Args) == 3 && os.Args[1] == childWord {
		syscall.Exit(runChild(os.Args[2]))
	}
	os.Exit(m.Run())
}

// runChild is the child. It answers with the end of its input.
func runChild(mode string) int {
	switch mode {
	case "environment":
		fmt.Println(strings.Join(os.Environ(), "\n"))
		return 0
	case "errors":
		_, _ = os.Stderr.Write(bytes.Repeat([]byte("a line of errors\n"), 1<<19))
		fmt.Fprint(os.Stderr, "the last")
		return 7
	case "output":
		_, _ = os.Stdout.Write(bytes.Repeat([]byte("a line of output\n"), 1<<16))
		fmt.Print("the last")
		return 0
	case "stubborn": // stays after the end of its input
		fmt.Println("ready")
		select {}
	}
	_, _ = io.Copy(os.Stdout, os.Stdin)
	return 0
}
