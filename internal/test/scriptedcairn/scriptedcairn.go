// Command scriptedcairn is cairn with the model cairn/script, which plays the file that CAIRN_SCRIPT names, for tests
// of other programs against cairn.
package main

import (
	"os"

	"github.com/cairn-dev/cairn/internal/cli/root"
	"github.com/cairn-dev/cairn/internal/host"
	"github.com/cairn-dev/cairn/internal/test/script"
)

func main() {
	if code, ok := host.RunSupervisor(os.Args[1:]); ok {
		os.Exit(code)
	}
	os.Exit(root.Main(host.Host{}, script.Embed(os.Getenv(script.Variable))))
}
