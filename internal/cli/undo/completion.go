package undo

import (
	"context"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// completePart completes the parts of the message whose id the arguments contain.
func (g commands) completePart(
	cmd *cobra.Command, args []string, typed string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	name := "last"
	if len(args) > 1 {
		name, args = args[0], args[1:]
	}
	return g.inv.Complete(func(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
		s, err := g.inv.FindSession(ctx, c, name)
		if err != nil {
			return nil, err
		}
		m, err := c.Message(ctx, s.ID, session.MessageID(cli.FirstArg(args, "")))
		for part, id := range cli.ListParts(m) {
			all = append(all, cobra.CompletionWithDesc(string(part), id))
		}
		return all, err
	})(cmd, args, typed)
}

// completeArguments completes a session and one of its messages, or a message of the newest session.
func (g commands) completeArguments(
	cmd *cobra.Command, args []string, typed string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 1 || len(args) == 1 && !isSession(args[0]) {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return g.inv.Complete(func(ctx context.Context, c *api.Client) (all []cobra.Completion, err error) {
		if len(args) == 0 && !strings.HasPrefix(typed, "msg_") {
			if all, err = g.inv.SessionCompletions(ctx, c); err != nil {
				return nil, err
			}
		}
		s, err := g.inv.FindSession(ctx, c, cli.FirstArg(args, "last"))
		if err != nil {
			return all, err
		}
		page, err := c.Messages(ctx, s.ID, api.MessageQuery{})
		for _, m := range page.Data {
			if text := describeMessage(m); text != "" {
				all = append(all, cobra.CompletionWithDesc(string(m.Meta().ID), text))
			}
		}
		return all, err
	})(cmd, args, typed)
}
