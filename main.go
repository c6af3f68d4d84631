// cairn runs durable coding-agent sessions. `go run . run "…"` works from a fresh clone.
package main

import (
	"fmt"
	"os"

	"github.com/cairn-dev/cairn/internal/cli/root"
	"github.com/cairn-dev/cairn/internal/fault"
	"github.com/cairn-dev/cairn/internal/host"
)

func main() {
	if code, ok := host.RunSupervisor(os.Args[1:]); ok {
		os.Exit(code)
	}
	if err := fault.FromEnvironment(); err != nil {
		fmt.Fprintln(os.Stderr, "cairn:", err)
		os.Exit(2)
	}
	os.Exit(root.Main(host.Host{}, nil))
}
