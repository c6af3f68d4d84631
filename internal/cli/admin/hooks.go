package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/location/hook"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/cairn-dev/cairn/internal/tool/process"
)

// hookCommands are `cairn hooks …`.
type hookCommands struct{ inv *cli.Invocation }

func (g hookCommands) hooksCommand() *cobra.Command {
	return cli.GroupCommand(
		&cobra.Command{Use: "hooks", Short: "List, try and import hooks: commands that run when something happens"},
		g.listCommand(), g.testCommand(), g.importCommand(),
	)
}

func (g hookCommands) listCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List the hooks with the files that set them", Args: cobra.NoArgs,
		Long: "List the hooks of all configuration files, in the order in which they run. Those of a project need trust\n" +
			"(cairn trust) and do not run before.",
		Example: "  cairn hooks list\n  cairn hooks list --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			for _, w := range c.Warnings {
				if strings.HasPrefix(w.Key, "hooks") {
					g.inv.Note(w.String())
				}
			}
			return cli.List[config.Hook]{
				Head: []string{"EVENT", "MATCHER", "COMMAND", "FILE", "STATE"}, Empty: "There are no hooks.",
				Row: func(h config.Hook) []string {
					return []string{
						h.Event, terminal.FirstLine(cmp.Or(string(h.Matcher), "*"), 60), terminal.FirstLine(h.Command, 120),
						terminal.FirstLine(h.Source.String(), 200), describeState(h),
					}
				},
			}.Print(g.inv, append([]config.Hook{}, c.ListHooks()...))
		}),
	})
}

// describeState says whether a hook runs.
func describeState(h config.Hook) string {
	switch {
	case !h.Active:
		return "needs trust"
	case h.MayAllow:
		return "active, may allow"
	}
	return "active"
}

// hookExample is what `cairn hooks test` tries.
type hookExample struct{ tool, input string }

func (g hookCommands) testCommand() *cobra.Command {
	var x hookExample
	cmd := &cobra.Command{
		Use: "test EVENT", Short: "Run the hooks of an event with an example", Args: cobra.ExactArgs(1),
		Long: "Run the hooks of an event that would run for an example, and show their exit codes, their output and what\n" +
			"cairn would do. Nothing else happens: no tool runs.",
		Example: "  cairn hooks test Stop\n" +
			"  cairn hooks test PreToolUse --tool Bash --input '{\"command\": \"git push\"}' --json",
		ValidArgsFunction: cli.FirstOnly(cli.FixedCompletions(config.HookEvents...)),
		RunE: g.inv.HostAction(func(ctx context.Context, o client.Options, args []string) error {
			return g.testHooks(ctx, o, args[0], x)
		}),
	}
	cmd.Flags().StringVar(&x.tool, "tool", "bash", "the tool of the example, under cairn's or Claude Code's `name`")
	cmd.Flags().StringVar(&x.input, "input", `{"command": "echo hello"}`, "the input of the tool, a `JSON` object")
	return g.inv.AddJSONFlag(cmd)
}

// testHooks runs the hooks of the event that select the example.
func (g hookCommands) testHooks(ctx context.Context, o client.Options, event string, x hookExample) error {
	if !slices.Contains(config.HookEvents, event) {
		return cli.UsageErrorf("%q is no event of hooks; the events are %s", event, strings.Join(config.HookEvents, ", "))
	}
	input := jsontext.Value(x.input)
	if !input.IsValid() || input.Kind() != '{' {
		return cli.UsageErrorf("--input must be a JSON object")
	}
	c, err := g.inv.Host.Config(ctx, o)
	if err != nil {
		return err
	}
	set := hook.New(hook.Options{
		Hooks: c.ListHooks(), Directory: o.Dir, Worktree: c.Claim.Root, Environment: process.Environment{},
		Supervisor: process.SupervisorCommand(),
	})
	trials := set.Try(ctx, hook.Example{Event: event, Tool: x.tool, Input: input})
	return cli.PrintResult(g.inv, append([]hook.Trial{}, trials...), func(trials []hook.Trial) {
		if len(trials) == 0 {
			g.inv.Err.Printf("No active hook of %s selects this example.\n", event)
		}
		for _, t := range trials {
			g.printTrial(t)
		}
	})
}

// printTrial prints one run for people.
func (g hookCommands) printTrial(t hook.Trial) {
	out := g.inv.Out
	out.Printf("%s  %s\n", out.PaintText(terminal.Bold, t.Hook.ID), terminal.FirstLine(t.Hook.Command, 200))
	switch {
	case t.Failure != "":
		out.Printf("  failure: %s\n", terminal.FirstLine(t.Failure, 400))
	default:
		out.Printf("  exit code: %d\n", t.Run.Exit)
	}
	for name, text := range map[string]string{"output": t.Run.Output, "errors": t.Run.Errors} {
		if text = strings.TrimSpace(text); text != "" {
			out.Printf("  %s: %s\n", name, terminal.FirstLine(text, 400))
		}
	}
	if t.Verdict.Message != "" {
		out.Printf("  shown: %s\n", terminal.FirstLine(t.Verdict.Message, 400))
	}
	out.Printf("  cairn would: %s\n", terminal.FirstLine(t.Outcome, 400))
}

// describeGroup returns a hook that is imported in one line.
func describeGroup(event string, g config.HookGroup) (lines []string) {
	for _, h := range g.Hooks {
		lines = append(lines, fmt.Sprintf("%s %s: %s", event, cmp.Or(string(g.Matcher), "*"), terminal.FirstLine(h.Command, 200)))
	}
	return lines
}
