package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/view"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

const attachHelp = `Work with a session in the full-screen interface. URL is a cairn server; without it, use the
cairn of this machine. With --plain, send it the lines that you type: prompts, answers to permission requests and questions, and commands
such as /sessions; type /help for the list. Ctrl-C interrupts the work; press it twice to leave.

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
	g.addFlags(cmd, &f)
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
	interactive := g.inv.Err.Terminal && terminal.IsTerminal(g.inv.Stdin)
	return g.withServer(ctx, &f.server, func(ctx context.Context, c *api.Client) error {
		s, err := findAttached(ctx, c, f)
		if err == nil && s != nil {
			err = checkSandbox(s, f.sandbox)
		}
		if err != nil {
			return err
		}
		if !interactive {
			return g.runLines(ctx, c, s, f)
		}
		return g.runConversation(ctx, c, s, f)
	})
}

// runLines runs one prompt for each line of standard input, one after another. The exit code is that of the last prompt
// that failed.
func (g attachCommand) runLines(ctx context.Context, c *api.Client, s *session.Session, f *attachFlags) error {
	if s != nil {
		g.inv.Err.Printf("%s  %s\n", describe.SessionTitle(s), s.ID)
	}
	worst := cli.ExitOK
	in := bufio.NewScanner(g.inv.Stdin)
	in.Buffer(nil, cli.MaxPrompt)
	for in.Scan() {
		text := strings.TrimSpace(in.Text())
		if text == "" {
			continue
		}
		if name, _, ok := parseSlash(text); ok && isConversationCommand(name) {
			switch name {
			case "quit", "exit", "q":
				return g.linesResult(worst)
			case "new":
				s = nil
			default:
				g.inv.Note(fmt.Sprintf("/%s works on a terminal only", name))
			}
			continue
		}
		r := g.lineRunner(c, s, text)
		r.plan.sandbox = f.sandbox
		if f.server.url != "" {
			r.plan.server = &f.server
		}
		err := r.run(ctx)
		out := r.result(err)
		r.view.ShowResult(out)
		if out.ExitCode != cli.ExitOK {
			worst = out.ExitCode
		}
		if out.ExitCode == cli.ExitUsage {
			continue // the prompt was refused and the session is as it was
		}
		if r.progress == nil || out.ExitCode == cli.ExitInterrupted || g.inv.Out.Err != nil {
			break
		}
		s = &session.Session{ID: r.plan.id}
	}
	if err := in.Err(); err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	return g.linesResult(worst)
}

// linesResult returns the error of a conversation without a terminal whose worst exit code is worst.
func (g attachCommand) linesResult(worst cli.ExitCode) error {
	if worst != cli.ExitOK {
		return &cli.ExitError{Code: worst}
	}
	return g.inv.Out.Err
}

// lineRunner runs one line as a prompt, or as a command if it begins with a slash, over an open connection.
func (g attachCommand) lineRunner(c *api.Client, s *session.Session, text string) *runner {
	ids := &session.IDs{}
	v := view.NewText(g.inv, false)
	v.ErrorsOnly = true
	r := &runner{app: g.inv, started: time.Now(), view: v, headless: true}
	r.open = func(context.Context) (*cli.Connection, error) {
		return &cli.Connection{API: c, Close: func(context.Context) error { return nil }}, nil
	}
	r.plan = plan{
		options: cli.Options{Dir: c.Directory}, message: session.MessageID(ids.New(session.PrefixMessage)),
		delivery: session.Queue, asks: "deny", prompt: session.Prompt{Text: text},
	}
	if s != nil {
		r.plan.id, r.plan.existing = s.ID, true
	} else {
		r.plan.id = session.ID(ids.New(session.PrefixSession))
	}
	if name, arguments, ok := parseSlash(text); ok {
		r.plan.command, r.plan.prompt.Text = name, arguments
	}
	return r
}

// isConversationCommand reports whether a slash command is one of the conversation's own (see runCommand).
func isConversationCommand(name string) bool {
	return slices.Contains(conversationCommands, name)
}

// parseSlash splits a line such as "/review main.go" into the command's name and its arguments. A path is no command.
func parseSlash(text string) (name, arguments string, ok bool) {
	word, arguments, _ := strings.Cut(text, " ")
	name, ok = strings.CutPrefix(word, "/")
	if !ok || strings.Contains(name, "/") {
		return "", "", false
	}
	return name, strings.TrimSpace(arguments), true
}

// runConversation holds a conversation with the person at the terminal, in which Ctrl-C does not end the command at
// once.
func (g attachCommand) runConversation(ctx context.Context, c *api.Client, s *session.Session, f *attachFlags) error {
	interrupts := make(chan struct{}, 4) // more than a person types before the first is read
	press := func() {
		select {
		case interrupts <- struct{}{}:
		default:
		}
	}
	g.inv.OnInterrupt.Store(&press)
	defer g.inv.OnInterrupt.Store(nil)
	ctx, stop := g.inv.UntilSignal(ctx)
	defer stop()
	where := c.Directory
	if f.server.url != "" {
		where = f.server.publicURL()
	}
	g.inv.Err.Printf("%s; type /help for the commands\n", terminal.FirstLine(where, 200))
	t := newConversation(g.inv, c, interrupts)
	t.sandbox = f.sandbox
	err := t.run(ctx, s, f.replayCount())
	g.inv.Out.EndLine()
	g.inv.Err.EndLine()
	if t.session != nil && t.working {
		g.inv.Note(t.describeRunningWork(context.WithoutCancel(ctx)) + attachTo(&f.server, t.session.ID))
	}
	return errors.Join(err, g.inv.Out.Err)
}

// replayCount is the number of messages to show first; negative: the last prompt and what followed.
func (f *attachFlags) replayCount() int {
	if f.noReplay {
		return 0
	}
	return f.history
}
