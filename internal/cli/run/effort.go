package run

import (
	"context"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tui/offers"
	"github.com/spf13/cobra"
)

// addEffortFlag adds --effort with its completion.
func addEffortFlag(cmd *cobra.Command, effort *string, usage string) {
	cmd.Flags().StringVar(effort, "effort", "", usage)
	levels := cli.FixedCompletions("none", "minimal", "low", "medium", "high", "xhigh", "max")
	_ = cmd.RegisterFlagCompletionFunc("effort", levels) // the flag exists
}

// chooseEffort has the prompt use the effort of the command line, if no model is named there: with the model that the
// session has selected, or else with that of its agent or directory.
func (s *setup) chooseEffort(ctx context.Context, c *api.Client, selected *session.ModelRef, agent string) error {
	p := s.plan
	if p.effort == "" || p.model != nil {
		return nil
	}
	// Find the model.
	list := offers.ReadOffers(ctx, c)
	var ref session.ModelRef
	if selected != nil {
		ref = *selected
	} else {
		ref = list.ChooseModel(agent)
	}
	// Refuse an effort that it does not have, before anything is created.
	name, levels := terminal.FirstLine(ref.String(), 100), list.ListEfforts(ref)
	switch {
	case ref.ID == "":
		return cli.UsageErrorf("--effort needs --model: the default model is unknown")
	case len(levels) == 0:
		return cli.UsageErrorf("--effort: %s has no reasoning efforts", name)
	case p.effort != "default" && !slices.Contains(levels, p.effort):
		return cli.UsageErrorf("--effort: %s has no effort %q; it has %s", name, terminal.FirstLine(p.effort, 40),
			strings.Join(levels, ", "))
	}
	ref.Variant = p.effort
	p.model = &ref
	return nil
}
