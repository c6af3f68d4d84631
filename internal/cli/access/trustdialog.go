package access

import (
	"bytes"
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui"
)

// ReadTrust returns the content of the working directory's files that waits for trust, as cairn trust shows it.
func ReadTrust(ctx context.Context, inv *cli.Invocation) (tui.Trust, error) {
	var text bytes.Buffer
	here := *inv
	here.Out, here.JSON = terminal.NewStream(&text, inv.Env), false
	g := trustCommands{&here}
	o, err := here.HostOptions("")
	if err != nil {
		return tui.Trust{}, err
	}
	cfg, store, err := g.loadClaim(ctx, o)
	if err == nil {
		err = g.showClaim(cfg)
	}
	if err != nil {
		return tui.Trust{}, err
	}
	t := tui.Trust{Body: strings.Split(strings.TrimRight(text.String(), "\n"), "\n")}
	if c := cfg.Claim; c.Problem == "" && !c.IsEmpty() && !cfg.Trusted {
		t.Accept = func(ctx context.Context) error {
			if err := cli.RefuseTool("cairn trust"); err != nil {
				return err
			}
			return store.Trust(ctx, c)
		}
	}
	return t, nil
}
