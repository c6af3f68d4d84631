package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/term"
	"github.com/cairn-dev/cairn/internal/cli/view"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// attachCommand is `cairn attach`.
type attachCommand struct{ inv *cli.Invocation }

// attachFlags are the flags of attach.
type attachFlags struct {
	server             serverFlags
	sandbox            session.SandboxMode
	session            string
	last, noReplay     bool
	fork, asJSON, mini bool
	history            int // messages that are shown first; negative: the last prompt and what followed
	given              func(name string) bool
}

const attachHelp = `Show a session as it works and send it the lines that you type: prompts, answers to permission requests and
questions, and commands such as /sessions; type /help for the list. URL is a cairn server; without it, use the
cairn of this machine. Ctrl-C interrupts the work; press it twice to leave.

When standard input is not a terminal, each of its lines is sent as a prompt, one after another, and permission
requests are denied.`

// NewAttachCommand returns `cairn attach`.
func NewAttachCommand(inv *cli.Invocation) *cobra.Command {
	return attachCommand{inv}.newAttachCommand()
}

func (g attachCommand) newAttachCommand() *cobra.Command {
	var f attachFlags
	cmd := &cobra.Command{
		Use: "attach [URL]", Short: "Work with a session line by line", Long: attachHelp, Args: cobra.MaximumNArgs(1),
		Example: "  cairn attach\n  cairn attach -c http://localhost:4096\n  printf 'one\\ntwo\\n' | cairn attach",
		RunE: func(cmd *cobra.Command, args []string) error {
			g.inv.Started, f.given = true, cmd.Flags().Changed
			f.server.url = cli.FirstArg(args, "")
			return g.runAttach(cmd.Context(), &f)
		},
	}
	f.server.addCredentials(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.server.directory, "dir", "", "work in this `DIRECTORY` of the server's machine")
	fs.StringVarP(&f.session, "session", "s", "", "continue the session with this `ID`")
	fs.BoolVarP(&f.last, "continue", "c", false, "continue the newest session of the directory")
	fs.IntVar(
		&f.history,
		"replay-limit",
		-1,
		"show the newest `N` messages first (default: the last prompt and its answer)",
	)
	fs.Lookup("replay-limit").DefValue = "0" // hides the default in the help: no number means it
	fs.BoolVar(&f.noReplay, "no-replay", false, "show no earlier messages")
	fs.BoolVar(&f.fork, "fork", false, "")
	fs.BoolVar(&f.mini, "mini", false, "")
	cli.AddSandboxFlag(cmd, &f.sandbox, "confine the commands of new sessions, and refuse others")
	cli.AddJSONFlag(cmd, &f.asJSON)
	cli.HideFlags(fs, "fork", "mini", "json") // OpenCode's; the first and the last are refused
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
	return cmd
}

// check rejects flags that are invalid by themselves.
func (f *attachFlags) check() error {
	switch {
	case f.asJSON:
		return cli.UsageErrorf("--json is not supported; for programs, use cairn run --attach URL --format json")
	case f.fork:
		return cli.UsageErrorf("--fork is not supported: cairn cannot fork sessions yet")
	case f.given("replay-limit") && f.history < 0:
		return cli.UsageErrorf("--replay-limit must be 0 or more, got %d", f.history)
	case f.session != "" && f.session != "last":
		return session.CheckID("--session", session.PrefixSession, f.session)
	}
	return nil
}

// runAttach runs the command: a conversation on a terminal, else one prompt for each line of standard input.
func (g attachCommand) runAttach(ctx context.Context, f *attachFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	interactive := g.inv.Err.Terminal && term.IsTerminal(g.inv.Stdin)
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

// withServer calls f with a client of the server, or of the cairn of this machine if no URL is given.
func (g attachCommand) withServer(
	ctx context.Context,
	server *serverFlags,
	f func(context.Context, *api.Client) error,
) error {
	if server.url != "" {
		conn, err := server.connect(ctx, g.inv.Env)
		if err != nil {
			return err
		}
		return f(ctx, conn.API)
	}
	o, err := g.inv.HostOptions(server.directory)
	if err != nil {
		return err
	}
	here := *g.inv
	here.Dir = o.Dir
	return here.WithClient(ctx, f)
}

// findAttached returns the session to continue, nil for a new one.
func findAttached(ctx context.Context, c *api.Client, f *attachFlags) (*session.Session, error) {
	switch {
	case f.last, f.session == "last":
		return cli.NewestSession(ctx, c, c.Directory, "omit --continue and --session to start one")
	case f.session != "":
		s, err := c.Session(ctx, session.ID(f.session))
		return s, cli.WithNearestSessions(ctx, c, err)
	default:
		return nil, nil
	}
}

// runLines runs one prompt for each line of standard input, one after another. The exit code is that of the last prompt
// that failed.
func (g attachCommand) runLines(ctx context.Context, c *api.Client, s *session.Session, f *attachFlags) error {
	if s != nil {
		g.inv.Err.Printf("%s  %s\n", cli.SessionTitle(s), s.ID)
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
	g.inv.Err.Printf("%s; type /help for the commands\n", term.FirstLine(where, 200))
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

func attachTo(server *serverFlags, id session.ID) string {
	words := slices.DeleteFunc(
		[]string{"cairn attach", server.publicURL(), "-s", string(id)},
		func(w string) bool { return w == "" },
	)
	return strings.Join(words, " ")
}
