// Package run holds the commands that show a session at work: run, which sees one prompt through, and attach, which
// talks with a session line by line. Both are clients of the API and share one printer: text for people, lines for
// programs.
package run

import (
	"context"
	"time"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/terminal"

	"github.com/cairn-dev/cairn/internal/cli/printer"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/spf13/cobra"
)

// runCommand is `cairn run`.
type runCommand struct{ inv *cli.Invocation }

// runFlags holds the values of the flags of run.
type runFlags struct {
	session, agent, model, format, asks, title, dir, record, replay, trust, command, schema string

	budgetUSD             string
	budgetTokens          int64
	budgetTurns           int
	budgetTime, timeout   time.Duration
	files                 []string
	last, queue, thinking bool
	steer, here           bool
	sandbox               session.SandboxMode
	worktree              string

	ephemeral                      bool
	server                         serverFlags
	variant, effort                string
	auto, fork, share, interactive bool
	port                           int

	given func(name string) bool // whether the flag stands on the command line
}

const runExamples = `  cairn run "What does this project do?"

  cairn run -c "And how is it tested?"             continue the newest session of this repository
  cairn run -m openai/gpt-5.2 -f design.md "Review this"
  git diff | cairn run --format json --ask=deny -  read the prompt from standard input`

// NewRunCommand returns `cairn run`.
func NewRunCommand(inv *cli.Invocation) *cobra.Command { return runCommand{inv}.newRunCommand() }

func (g runCommand) newRunCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [flags] PROMPT… | /COMMAND ARGUMENTS… | -",
		Short: "Run one prompt and show the work until it is done",
		Long: "Send a prompt to a session, show the work, and exit when the session is idle. The answer is written to\n" +
			"standard output, everything else to standard error. Permission requests are asked on the terminal; without\n" +
			"a terminal they are denied, unless --ask says otherwise.",
		Example: runExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			g.inv.Started, f.given = true, cmd.Flags().Changed
			if f.format == "default" { // OpenCode's name for it
				f.format = "text"
			}
			return g.runPrompt(cmd.Context(), &f, args)
		},
	}
	// The flags in the order of the help: the session, the prompt, the output, policies and limits, the place.
	fs := cmd.Flags()
	fs.StringVarP(&f.session, "session", "s", "", "continue the session `ID`, the beginning of one, or last")
	fs.BoolVarP(&f.last, "continue", "c", false, "continue the newest session of this repository")
	fs.BoolVar(&f.here, "here", false, "with --continue, look at the sessions of exactly this directory only")
	fs.StringVar(&f.agent, "agent", "", "use the agent `AGENT` (see cairn agent list)")
	fs.StringVarP(&f.model, "model", "m", "", "use the model `PROVIDER/MODEL[#VARIANT]` (see cairn models)")
	if !g.inv.IsOpenCode() {
		addEffortFlag(cmd, &f.effort, "use the reasoning effort `LEVEL` of the model, as after # in --model")
		f.addEphemeral(cmd)
	}
	fs.StringVar(
		&f.command,
		"command",
		"",
		"run the command `NAME` with PROMPT as its arguments (see cairn command list)",
	)
	fs.StringArrayVarP(&f.files, "file", "f", nil, "attach a `FILE`, or lines of it as FILE#10-20; can be repeated")
	fs.StringVar(
		&f.format,
		"format",
		"text",
		"print as `FORMAT`: text, or json (one object per line, the last one the result)",
	)
	fs.StringVar(
		&f.schema,
		"format-schema",
		"",
		"require an answer that is a JSON value valid by the JSON schema in `FILE`",
	)
	fs.StringVar(
		&f.asks,
		"ask",
		"",
		"answer every permission request with `POLICY`: deny, allow, fail (deny and stop),\n"+
			"or wait:DURATION for an answer from another terminal",
	)
	fs.DurationVar(&f.timeout, "timeout", 0, "interrupt the session after this `DURATION` and exit with 4")
	fs.BoolVar(&f.queue, "queue", false, "if the session is working, wait until it is idle")
	fs.BoolVar(&f.steer, "steer", false, "if the session is working, deliver the prompt at its next step (default)")
	fs.StringVar(&f.title, "title", "", "set the session's `TITLE`")
	fs.StringVar(&f.budgetUSD, "budget-usd", "", "stop once the session has cost this many `DOLLARS`")
	fs.Int64Var(&f.budgetTokens, "budget-tokens", 0, "stop once the session has used this many `TOKENS`")
	fs.IntVar(&f.budgetTurns, "budget-turns", 0, "stop after this many model `TURNS` for one prompt")
	fs.DurationVar(&f.budgetTime, "budget-time", 0, "stop after this `DURATION` of work for one prompt")
	fs.StringVar(&f.dir, "dir", "", "work in this `DIRECTORY` instead of the current one")
	cli.AddWorktreeFlag(fs, &f.worktree)
	fs.BoolVar(&f.thinking, "thinking", false, "show the model's reasoning")
	cli.AddSandboxFlag(cmd, &f.sandbox, "confine the commands of the session")
	fs.StringVar(&f.record, "record", "", "record the provider's traffic, without secrets, in `FILE`")
	fs.StringVar(&f.replay, "replay", "", "replay the traffic recorded in `FILE`, without a network")
	f.addServer(cmd)
	f.addOpenCode(cmd)
	cli.AddTrustFlag(cmd, &f.trust)
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
	cmd.MarkFlagsMutuallyExclusive("session", "worktree")
	cmd.MarkFlagsMutuallyExclusive("ask", "auto")
	cmd.MarkFlagsMutuallyExclusive("queue", "steer")
	cmd.MarkFlagsMutuallyExclusive("record", "replay")
	cmd.MarkFlagsMutuallyExclusive("command", "format-schema")
	return cmd
}

// addEphemeral adds the flag of a session that is deleted at the end, which is therefore a new one.
func (f *runFlags) addEphemeral(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.ephemeral, "ephemeral", false, "delete the session with its subagents when the command ends")
	cmd.MarkFlagsMutuallyExclusive("session", "ephemeral")
	cmd.MarkFlagsMutuallyExclusive("continue", "ephemeral")
}

// addServer adds the flags of a server elsewhere.
func (f *runFlags) addServer(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.server.url, "attach", "", "run on the cairn server at this `URL` instead of here")
	f.server.addCredentials(cmd)
}

// addOpenCode adds the flags of OpenCode's run that have no other name here.
func (f *runFlags) addOpenCode(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.variant, "variant", "", "use this `VARIANT` of the model, as after # in --model")
	fs.BoolVar(&f.auto, "auto", false, "allow every permission request; deny rules still apply")
	fs.BoolVar(&f.auto, "dangerously-skip-permissions", false, "")
	fs.BoolVar(&f.fork, "fork", false, "")
	fs.BoolVar(&f.share, "share", false, "share the session; what looks like a secret is replaced")
	fs.BoolVarP(&f.interactive, "interactive", "i", false, "")
	fs.IntVar(&f.port, "port", 0, "") // no port is opened
	cli.HideFlags(fs, "dangerously-skip-permissions", "fork", "interactive", "port")
}

// runPrompt is the command. Whatever goes wrong, with --format json the last line is a result.
func (g runCommand) runPrompt(ctx context.Context, f *runFlags, args []string) error {
	if f.format != "text" && f.format != "json" {
		return cli.UsageErrorf("--format must be text or json, got %q", terminal.FirstLine(f.format, 40))
	}
	r := &promptRun{inv: g.inv, started: time.Now(), printer: g.newPrinter(f), stop: g.inv.Stopping}
	r.desk = newAskDesk("", r.printer.ShowNote)
	// Plan the run, and read the configuration before anything but a worktree is created.
	err := g.enterWorktree(ctx, f, args)
	var cfg *config.Config
	if err == nil {
		r.plan, err = g.newPlan(ctx, f, args)
	}
	if err == nil && r.plan.server == nil {
		if cfg, err = g.inv.CheckConfig(ctx, r.plan.options); cfg != nil {
			r.plan.pinModel(cfg)
		}
	}
	tell := func(string) {}
	if err == nil {
		r.openDesk()
		defer r.desk.close()
		if r.plan.server == nil {
			tell = g.inv.CheckKeyOverrides(ctx)
		}
		err = r.connect(ctx, r.run)
	}
	// Report, with what the person should know of the work.
	out := r.result(err)
	tell(cli.ProviderOf(out.Model))
	g.noteAfterwork(ctx, r, cfg, out)
	r.printer.ShowResult(out)
	if out.ExitCode == cli.ExitOK {
		return g.inv.Out.Err
	}
	return &cli.ExitError{Code: out.ExitCode}
}

// enterWorktree makes the directory of the run that of the worktree which the flag asks for.
func (g runCommand) enterWorktree(ctx context.Context, f *runFlags, args []string) (err error) {
	switch {
	case f.worktree == "" && !f.given("worktree"):
		return nil
	case f.worktree == "":
		return cli.UsageErrorf("--worktree= has no name; without = cairn chooses one")
	case f.server.url != "":
		return cli.UsageErrorf("--worktree makes a worktree on this machine; omit it or --attach")
	}
	if err := cli.CheckWorktreeWords(f.worktree, args); err != nil {
		return err
	}
	f.here = f.here || f.last // --continue means a session of the worktree
	f.dir, err = g.inv.EnterWorktree(ctx, f.dir, f.worktree)
	return err
}

// openDesk decides how requests are answered: by the policy, or by the person. Without a terminal, and for programs,
// they are denied, in the engine.
func (r *promptRun) openDesk() {
	r.desk.openCode = r.plan.openCode
	if r.plan.asks == "" && !r.plan.openCode && !r.desk.openTerminal(r.inv, r.printer) {
		r.plan.asks, r.desk.headless = "deny", true
	}
	r.desk.policy = r.plan.asks
}

// noteAfterwork says what the person should know about the work that is done.
func (g runCommand) noteAfterwork(ctx context.Context, r *promptRun, cfg *config.Config, out printer.Result) {
	if out.Model == offlineGuide {
		g.inv.NoteOwnKeys(r.owner, "", nil)
		if r.after.offer != "" && (cfg == nil || cfg.Model.Ref() == nil) {
			r.printer.ShowNote(r.after.offer)
		}
	}
	g.inv.NoteSkippedHostedTools(ctx, r.plan.options, cfg, out.Model)
	for _, address := range r.after.missing {
		r.printer.ShowNote(describe.DescribeMissingPage(address))
	}
	for _, text := range r.after.servers {
		r.printer.ShowWarning(printer.Warning{
			Name: printer.WarnServerMissing, Message: terminal.FirstLine(text, 400), SessionID: out.SessionID, Time: out.Time,
		})
	}
	switch out.Finish {
	case "length":
		r.printer.ShowNote(session.DescribeFinish(out.Finish) + "; to get the rest, prompt it to continue")
	case "unknown":
		r.printer.ShowNote(session.DescribeFinish(out.Finish))
	}
}

func (g runCommand) newPrinter(f *runFlags) printer.Printer {
	switch {
	case f.format == "json" && g.inv.IsOpenCode():
		return printer.NewOpenCodeLines(g.inv, f.thinking)
	case f.format == "json":
		return printer.NewJSONLines(g.inv, f.thinking)
	default:
		v := printer.NewText(g.inv, f.thinking)
		v.ErrorsOnly = g.inv.IsOpenCode()
		if !v.ErrorsOnly {
			v.Live = printer.NewLive(g.inv)
		}
		return v
	}
}
