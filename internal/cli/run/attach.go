package run

import (
	"cmp"
	"context"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

const attachHelp = `Work with a session in the full-screen interface. URL is a cairn server, as http://HOST:PORT or
HOST:PORT; without it, use the cairn of this machine. With --plain, send it the lines that you type: prompts, answers to
permission requests and questions, and commands such as /sessions; type /help for the list. Ctrl-C interrupts the work;
press it twice to leave.

When standard input is not a terminal, each of its lines is sent as a prompt, one after another, and permission
requests are denied.`

// NewAttachCommand returns `cairn attach`.
func NewAttachCommand(inv *cli.Invocation) *cobra.Command {
	return attachCommand{inv}.newAttachCommand()
}

func (g attachCommand) newAttachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use: "attach [URL]", Short: "Work with a session, also of another machine", Long: attachHelp,
		Args:    cobra.MaximumNArgs(1),
		Example: "  cairn attach\n  cairn attach -c http://localhost:4096\n  printf 'one\\ntwo\\n' | cairn attach",
		RunE: func(cmd *cobra.Command, args []string) error {
			g.inv.Started, f.given = true, cmd.Flags().Changed
			f.server.url = cli.FirstArg(args, "")
			return g.runAttach(cmd.Context(), &f)
		},
	}
	addContinueFlags(cmd.Flags(), &f)
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
	g.addServerFlags(cmd, &f)
	cmd.Flags().BoolVar(&f.plain, "plain", false, "show lines instead of the full screen, as for a screen reader")
	return cmd
}

// runAttach runs the command: a conversation on a terminal, else one prompt for each line of standard input.
func (g attachCommand) runAttach(ctx context.Context, f *attachFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if IsFullScreen(g.inv) && !f.plain && !f.mini {
		return g.runFullScreen(ctx, f)
	}
	return g.withServer(ctx, &f.server, func(ctx context.Context, c *api.Client) error {
		s, err := findAttached(ctx, c, f, g.inv.Note)
		if err == nil && s != nil {
			err = cmp.Or(checkSandbox(s, f.sandbox), cli.CheckDirectory(ctx, c, s, g.inv.Note))
		}
		if err != nil {
			return err
		}
		return g.converse(ctx, c, s, f)
	})
}

// converse runs the lines of standard input. On a terminal the person answers requests, and a line at the end says
// which work goes on; otherwise requests are denied, and the exit code is that of the last prompt that failed.
func (g attachCommand) converse(ctx context.Context, c *api.Client, s *session.Session, f *attachFlags) error {
	t := &conversation{
		inv: g.inv, client: c, sandbox: f.sandbox, printer: printer.NewText(g.inv, false), interrupts: make(chan struct{}, 1),
		interactive: g.inv.Err.Terminal && terminal.IsTerminal(g.inv.Stdin),
	}
	if f.server.url != "" {
		t.server = &f.server
	}
	t.printer.ErrorsOnly = true
	t.desk = newAskDesk("", t.printer.ShowNote)
	defer func() { t.desk.close() }()
	t.desk.leaves = true
	if !t.interactive {
		t.desk.policy, t.desk.headless = "deny", true
		return cmp.Or(t.converse(ctx, s, 0), g.inv.Out.Err)
	}
	t.openTerminal()
	ctx, stop := g.inv.UntilSignal(ctx)
	defer stop()
	g.inv.Err.Printf("%s; type /help for the commands\n",
		terminal.FirstLine(cmp.Or(f.server.publicURL(), c.Directory), 200))
	err := t.converse(ctx, s, f.replayCount())
	g.inv.Out.EndLine()
	g.inv.Err.EndLine()
	if t.session != nil && t.working {
		g.inv.Note(t.describeRunningWork(context.WithoutCancel(ctx)) + attachTo(&f.server, t.session.ID))
	}
	return cmp.Or(err, g.inv.Out.Err)
}

// replayCount is the number of messages to show first; negative: the last prompt and what followed.
func (f *attachFlags) replayCount() int {
	if f.noReplay {
		return 0
	}
	return f.history
}
