//go:build unix

package notify

import (
	"os"
	"syscall"
	"testing"

	"github.com/cairn-dev/cairn/internal/tool/process"
)

// TestMain lets the test binary be a supervisor.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == process.SuperviseWord {
		syscall.Exit(process.RunSupervisor()) // the race detector would wait a second in os.Exit
	}
	os.Exit(m.Run())
}
