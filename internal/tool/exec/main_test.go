package exec_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/access/sandbox"
	"github.com/cairn-dev/cairn/internal/test/sandboxtest"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// The test program is its own supervisor, and a server that a test can kill.
func TestMain(m *testing.M) {
	sandboxtest.RestartWithoutNamespaces()
	if len(os.Args) == 2 && os.Args[1] == process.SuperviseWord {
		syscall.Exit(process.RunSupervisor()) // the race detector would wait a second in os.Exit
	}
	if len(os.Args) > 2 {
		switch os.Args[1] {
		case sandbox.Word:
			os.Exit(sandbox.Enter(os.Args[2:]))
		case serverWord:
			serveTools(os.Args[2:])
		}
	}
	os.Exit(m.Run())
}
