package admin

import (
	"bytes"
	"strings"
	"testing"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// A session that could not be deleted is an error, after all that was done is printed.
func TestPruneFails(t *testing.T) {
	env := func(string) string { return "" }
	for _, json := range []bool{false, true} {
		var out, notes bytes.Buffer
		g := storeCommands{&cli.Invocation{
			Out: terminal.NewStream(&out, env), Err: terminal.NewStream(&notes, env), JSON: json,
		}}
		found := api.PruneResult{Kept: 3, Sessions: []api.PrunedSession{{SessionID: "ses_a"}, {SessionID: "ses_b", Error: "it was used"}}}
		err := g.printPruned(found, nil)
		if err == nil || err.Error() != "1 session could not be deleted" || cli.CodeOf(err) != cli.ExitFailure {
			t.Errorf("json %v: error %v", json, err)
		}
		if !strings.Contains(out.String(), "ses_b") {
			t.Errorf("json %v: printed %q", json, out.String())
		}
		if err := g.printPruned(api.PruneResult{Sessions: found.Sessions[:1]}, nil); err != nil {
			t.Errorf("json %v: without a failure: %v", json, err)
		}
	}
}
