package mcp_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/tool/process"
)

// The test program is its own supervisor, and a server over stdio.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.SuperviseWord {
		syscall.Exit(process.RunSupervisor()) // the race detector would wait a second in os.Exit
	}
	if len(os.Args) > 2 && os.Args[1] == serverWord {
		syscall.Exit(runServer(os.Args[2], os.Args[3:]))
	}
	os.Exit(m.Run())
}
