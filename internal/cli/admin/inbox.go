package admin

import (
	"context"
	"slices"
	"strconv"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// inboxCommands are `cairn inbox …`.
type inboxCommands struct{ inv *cli.Invocation }

func (g inboxCommands) inboxCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "inbox", Short: "List and change pending prompts",
		Long: "A prompt is pending in its session's inbox until it is delivered: a steering prompt at the model's next\n" +
			"step, a queued one when the session becomes idle. A PROMPT is an id, the beginning of one, or its\n" +
			"number in the list.",
	}, g.inboxList(), g.inboxEdit(), g.inboxWithdraw(), g.inboxMove(),
		g.inboxRedirect(session.Steer, "Deliver a pending prompt at the model's next step"),
		g.inboxRedirect(session.Queue, "Deliver a pending prompt once the session is idle"))
}

// inboxList returns the command that lists the pending prompts in the order in which they are promoted.
func (g inboxCommands) inboxList() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list [SESSION]", Aliases: []string{"ls"}, Short: "List the pending prompts of a session",
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn inbox list last",
		RunE: g.inv.SessionAction(func(ctx context.Context, c *api.Client, s *session.Session) error {
			ins, err := c.Inbox().List(ctx, s.ID)
			if err != nil {
				return err
			}
			if g.inv.JSON {
				return g.inv.PrintJSON(ins)
			}
			if len(ins) == 0 {
				g.inv.Err.Printf("No prompts are pending in %s.\n", s.ID)
				return nil
			}
			// A table for people; the numbers are those that the other commands accept.
			t := g.inv.NewTable("#", "ID", "DELIVERY", "SINCE", "AGENT", "MODEL", "PROMPT")
			for i, in := range ins {
				t.AddRow(
					strconv.Itoa(i+1),
					string(in.ID),
					string(in.Delivery),
					terminal.FormatAge(in.TimeCreated),
					in.Prompt.Agent,
					modelName(in.Prompt.Model),
					describe.InputLine(in, 80),
				)
			}
			t.Print()
			return nil
		}),
	})
}

// modelName returns the name of a model, "" for nil.
func modelName(m *session.ModelRef) string {
	if m == nil {
		return ""
	}
	return m.String()
}

// changeInput finds the session and one of its waiting prompts, which f changes.
func (g inboxCommands) changeInput(
	ctx context.Context, args []string,
	f func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error,
) error {
	return g.inv.WithSession(ctx, args[0], func(ctx context.Context, c *api.Client, s *session.Session) error {
		ins, err := c.Inbox().List(ctx, s.ID)
		if err != nil {
			return err
		}
		i, err := findInput(ins, args[1])
		if err != nil {
			return err
		}
		in := cli.Change{SessionID: s.ID, MessageID: ins[i].ID}
		return g.inv.FinishChange(f(ctx, c, ins, i), in, "")
	})
}

// findInput finds a prompt by its number, id or the beginning of its id.
func findInput(ins []*session.Input, name string) (int, error) {
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(ins) {
			return n - 1, nil
		}
		return 0, cli.UsageErrorf("pending prompt %d not found; the inbox has %d", n, len(ins))
	}
	kind := cli.Kind{Name: "pending prompt", Hint: "cairn inbox list shows the pending prompts"}
	found, err := cli.FindByID(kind, ins, func(in *session.Input) session.MessageID { return in.ID }, name)
	return slices.Index(ins, found), err
}

func (g inboxCommands) inboxEdit() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "edit SESSION PROMPT TEXT… | -", Short: "Replace the text of a pending prompt", Args: cobra.MinimumNArgs(3),
		Example: `  cairn inbox edit last 1 "Only look at the parser"`,
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			text, err := g.inv.ReadPrompt(args[2:])
			if err != nil {
				return err
			}
			return g.changeInput(ctx, args, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				p := ins[i].Prompt
				p.Text = text
				return c.Inbox().Edit(ctx, ins[i].SessionID, ins[i].ID, p)
			})
		}),
	})
}

func (g inboxCommands) inboxWithdraw() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "withdraw SESSION PROMPT", Short: "Withdraw a pending prompt", Args: cobra.ExactArgs(2),
		Example: "  cairn inbox withdraw last 1",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.changeInput(ctx, args, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				return c.Inbox().Withdraw(ctx, ins[i].SessionID, ins[i].ID)
			})
		}),
	})
}

func (g inboxCommands) inboxMove() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "move SESSION PROMPT NUMBER", Short: "Move a pending prompt to another position", Args: cobra.ExactArgs(3),
		Example: "  cairn inbox move last 3 1",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.changeInput(ctx, args, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				to, err := strconv.Atoi(args[2])
				if err != nil || to < 1 || to > len(ins) {
					return cli.UsageErrorf(
						"the new position must be a number from 1 to %d, got %q",
						len(ins),
						terminal.FirstLine(args[2], 20),
					)
				}
				return c.Inbox().Reorder(ctx, ins[i].SessionID, moveInput(ins, i, to-1))
			})
		}),
	})
}

// moveInput is the order in which the prompt at from stands at to.
func moveInput(ins []*session.Input, from, to int) []session.MessageID {
	ids := make([]session.MessageID, len(ins))
	for i, in := range ins {
		ids[i] = in.ID
	}
	id := ids[from]
	return slices.Insert(slices.Delete(ids, from, from+1), to, id)
}

func (g inboxCommands) inboxRedirect(d session.Delivery, short string) *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: string(d) + " SESSION PROMPT", Short: short, Args: cobra.ExactArgs(2),
		Example: "  cairn inbox " + string(d) + " last 1",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.changeInput(ctx, args, func(ctx context.Context, c *api.Client, ins []*session.Input, i int) error {
				return c.Inbox().Redirect(ctx, ins[i].SessionID, ins[i].ID, d)
			})
		}),
	})
}
