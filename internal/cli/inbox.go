package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) inboxCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "inbox", Short: "Look at and change prompts that wait",
		Long: "A prompt waits in its session's inbox until it is promoted: one to steer at the model's next step, one to\n" +
			"queue when the session would become idle. Until then it can be changed. Prompts are named by id, by the\n" +
			"beginning of it, or by their number in the list.",
	}
	cmd.AddCommand(a.inboxList(), a.inboxEdit(), a.inboxWithdraw(), a.inboxMove(),
		a.inboxRedirect(session.Steer, "Heed a waiting prompt at the model's next step"),
		a.inboxRedirect(session.Queue, "Keep a waiting prompt until the session is idle"))
	return parent(cmd)
}

func (a *app) inboxList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list SESSION", Aliases: []string{"ls"}, Short: "List the prompts that wait", Args: cobra.MaximumNArgs(1),
		Example: "  cairn inbox list last",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.withSession(ctx, first(args, "last"), func(ctx context.Context, c *api.Client, s *session.Session) error {
				ins, err := c.Inbox(ctx, s.ID)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(append([]*session.Input{}, ins...))
				}
				if len(ins) == 0 {
					a.err.printf("Nothing waits in %s.\n", s.ID)
					return nil
				}
				t := a.table("#", "ID", "DELIVERY", "SINCE", "PROMPT")
				for i, in := range ins {
					t.row(strconv.Itoa(i+1), string(in.ID), string(in.Delivery), ago(in.TimeCreated), line(in.Prompt.Text, 80))
				}
				t.print()
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// changeInput finds the session and one of its waiting prompts, which f changes.
func (a *app) changeInput(ctx context.Context, args []string, asJSON bool, f func(context.Context, *api.Client, []*session.Input, int) error) error {
	return a.withSession(ctx, args[0], func(ctx context.Context, c *api.Client, s *session.Session) error {
		ins, err := c.Inbox(ctx, s.ID)
		if err != nil {
			return err
		}
		i, err := findInput(ins, args[1])
		if err != nil {
			return err
		}
		in := change{SessionID: s.ID, MessageID: ins[i].ID}
		if err := f(ctx, c, ins, i); err != nil {
			return err
		}
		a.changed(asJSON, in, "")
		return nil
	})
}

func findInput(ins []*session.Input, name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(ins) {
			return n - 1, nil
		}
		return 0, usagef("there is no waiting prompt number %d; %d wait", n, len(ins))
	}
	found, ids := -1, make([]string, len(ins))
	for i, in := range ins {
		ids[i] = string(in.ID)
		if ids[i] == name {
			return i, nil
		}
		if len(name) >= 8 && strings.HasPrefix(ids[i], name) {
			if found >= 0 {
				return 0, usagef("several waiting prompts begin with %q", name)
			}
			found = i
		}
	}
	if found >= 0 {
		return found, nil
	}
	return 0, session.NotFound("waiting prompt", name, nearest(name, ids)...)
}

func (a *app) inboxEdit() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "edit SESSION PROMPT TEXT… | -", Short: "Replace the text of a waiting prompt", Args: cobra.MinimumNArgs(3),
		Example: `  cairn inbox edit last 1 "Only look at the parser"`,
		RunE: a.does(func(ctx context.Context, args []string) error {
			text, err := a.promptText(args[2:])
			if err != nil {
				return err
			}
			return a.changeInput(ctx, args, asJSON, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				p := ins[i].Prompt
				p.Text = text
				return c.EditInput(ctx, ins[i].SessionID, ins[i].ID, p)
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) inboxWithdraw() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "withdraw SESSION PROMPT", Short: "Take a waiting prompt back", Args: cobra.ExactArgs(2),
		Example: "  cairn inbox withdraw last 1",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.changeInput(ctx, args, asJSON, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				return c.Withdraw(ctx, ins[i].SessionID, ins[i].ID)
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) inboxMove() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "move SESSION PROMPT NUMBER", Short: "Move a waiting prompt to another place", Args: cobra.ExactArgs(3),
		Example: "  cairn inbox move last 3 1",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.changeInput(ctx, args, asJSON, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				to, err := strconv.Atoi(args[2])
				if err != nil || to < 1 || to > len(ins) {
					return usagef("the new place must be a number from 1 to %d, got %q", len(ins), line(args[2], 20))
				}
				return c.Reorder(ctx, ins[i].SessionID, moved(ins, i, to-1))
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// moved is the order in which the prompt at from stands at to.
func moved(ins []*session.Input, from, to int) []session.MessageID {
	ids := make([]session.MessageID, len(ins))
	for i, in := range ins {
		ids[i] = in.ID
	}
	id := ids[from]
	return slices.Insert(slices.Delete(ids, from, from+1), to, id)
}

func (a *app) inboxRedirect(d session.Delivery, short string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: string(d) + " SESSION PROMPT", Short: short, Args: cobra.ExactArgs(2),
		Example: "  cairn inbox " + string(d) + " last 1",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.changeInput(ctx, args, asJSON, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				return c.Redirect(ctx, ins[i].SessionID, ins[i].ID, d)
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
