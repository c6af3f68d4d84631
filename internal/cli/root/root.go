// Package root is the tree of cairn's commands, and the process that runs one of them.
package root

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/cli/access"
	"github.com/cairn-dev/cairn/internal/cli/acp"
	"github.com/cairn-dev/cairn/internal/cli/admin"
	"github.com/cairn-dev/cairn/internal/cli/inspect"
	"github.com/cairn-dev/cairn/internal/cli/installation"
	"github.com/cairn-dev/cairn/internal/cli/mcp"
	"github.com/cairn-dev/cairn/internal/cli/plugin"
	"github.com/cairn-dev/cairn/internal/cli/run"
	"github.com/cairn-dev/cairn/internal/cli/share"
	"github.com/cairn-dev/cairn/internal/cli/undo"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// program is the tree of all commands.
type program struct{ inv *cli.Invocation }

// newRoot builds the tree of commands. It touches nothing.
func (g program) newRoot() *cobra.Command {
	var version bool
	var screen *run.Interface // nil under the name opencode
	root := &cobra.Command{
		Use:           "cairn",
		Short:         "Durable coding-agent sessions",
		Long:          rootHelp,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args: func(root *cobra.Command, args []string) error {
			if version || screen != nil && screen.AcceptArguments(args, root.ArgsLenAtDash()) {
				return nil
			}
			return g.unknownCommand(root, args)
		},

		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return refuseTool(g.inv, cmd) },
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			if version {
				g.inv.Out.Printf("%s\n", formatVersion(g.inv))
				return g.inv.Out.Err
			}
			if screen != nil && screen.IsWanted() {
				return screen.Run(ctx)
			}
			g.inv.Out.Printf("%s", rootHelp)
			return g.inv.Out.Err
		}),
	}
	// Output, errors and input are those of the invocation, not of the process.
	root.SetOut(helpWriter{g.inv.Out})
	root.SetErr(g.inv.Err)
	root.SetIn(g.inv.Stdin)
	if g.inv.IsOpenCode() {
		root.Use = cli.OpenCode
	} else {
		screen = run.NewInterface(g.inv, root)
	}
	root.Flags().BoolVarP(&version, "version", "v", false, "version for "+root.Name())
	g.inv.Logs.AddTo(root)
	setHelp(root)
	root.CompletionOptions.HiddenDefaultCmd = false
	// The commands in their groups, in the order of the help.
	root.AddGroup(
		&cobra.Group{ID: groupWork, Title: "Work:"},
		&cobra.Group{ID: groupLook, Title: "Inspect:"},
		&cobra.Group{ID: groupCare, Title: "Maintain:"},
	)
	root.SetHelpCommandGroupID(groupCare)
	root.SetCompletionCommandGroupID(groupCare)
	add := func(group string, cmds ...*cobra.Command) {
		for _, c := range cmds {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupWork, run.NewRunCommand(g.inv), run.NewFullScreenCommand(g.inv), run.NewAttachCommand(g.inv))
	add(groupWork, acp.NewCommand(g.inv))
	add(groupWork, undo.NewCommands(g.inv)...)
	add(groupWork, admin.SessionCommands(g.inv)...)
	add(groupWork, share.Commands(g.inv)...)
	add(groupLook, inspect.Commands(g.inv)...)
	add(groupLook, mcp.Commands(g.inv)...)
	add(groupLook, plugin.Commands(g.inv)...)
	add(groupCare, access.Commands(g.inv)...)
	add(groupCare, admin.MaintenanceCommands(g.inv)...)
	add(groupCare, append(installation.Commands(g.inv), newManCommand(g.inv))...)
	// Cobra's own commands are created early, so that they can be described and completed as well.
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	describeShells(root)
	g.addCompletions(root)
	root.AddCommand(
		helpTopic("exit-codes", "The exit codes", cli.ExitCodesHelp()),
		helpTopic("environment", "The environment variables", environmentHelp),
	)
	help, _, _ := root.Find([]string{"help"})
	help.Args = g.checkHelpTopic
	return root
}

const (
	groupWork = "work"
	groupLook = "look"
	groupCare = "care"
)

// unknownCommand says what may have been meant by a command that there is not.
func (g program) unknownCommand(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if meant := renamedCommands[args[0]]; meant != "" && !g.inv.IsOpenCode() {
		return fmt.Errorf("unknown command %q; did you mean %s?", args[0], meant)
	}
	if err := g.describeUnsupported(args[0], root.Name()); err != nil {
		return err
	}
	if cli.IsURL(args[0]) {
		return fmt.Errorf("unknown command %q; did you mean %s attach %[1]s?", terminal.FirstLine(args[0], 200), root.Name())
	}
	if args[0] == "" {
		return errors.New("the argument is empty; give a directory, or a prompt of two words or more")
	}
	if err := g.describePath(args[0], root.Name()); err != nil {
		return err
	}
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	if near := spelling.FindNearest(args[0], names, 1); len(near) > 0 {
		return fmt.Errorf("unknown command %q; did you mean %s?", terminal.FirstLine(args[0], 40), near[0])
	}
	return fmt.Errorf("unknown command %q; to run it as a prompt: %s run %s", terminal.FirstLine(args[0], 40), root.Name(),
		quoteLine(args))
}

// checkHelpTopic refuses cairn help with words that name no command; cobra would exit with 0.
func (g program) checkHelpTopic(help *cobra.Command, args []string) error {
	c, rest, err := help.Root().Find(args)
	if err != nil || c.HasSubCommands() && len(rest) > 0 {
		if near := spelling.FindNearest(rest[0], helpTopicNames(c), 1); len(near) > 0 {
			return fmt.Errorf("unknown topic %q; did you mean %s?", terminal.FirstLine(rest[0], 40), near[0])
		}
		return cli.UnknownSubcommand(c, rest[0])
	}
	return nil
}

func helpTopicNames(c *cobra.Command) (names []string) {
	for _, sub := range c.Commands() {
		if sub.IsAdditionalHelpTopicCommand() {
			names = append(names, sub.Name())
		}
	}
	return names
}

// helpTopic is a page of help that is no command.
func helpTopic(name, short, text string) *cobra.Command {
	return &cobra.Command{Use: name, Short: short, Long: text}
}

// describeShells makes cobra's completion command refuse a shell that it does not know.
func describeShells(root *cobra.Command) {
	for _, c := range root.Commands() {
		if c.Name() != "completion" {
			continue
		}
		cli.GroupCommand(c)
		for _, shell := range c.Commands() {
			shell.Example = "  cairn completion " + shell.Name()
		}
	}
}

// completeDirectory completes the directory of the interface, once it cannot be the name of a command any more.
func completeDirectory(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) == 0 && strings.ContainsAny(typed, "./~") {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// addCompletions completes arguments and the values of flags, and keeps shells from offering files where none are
// meant.
func (g program) addCompletions(c *cobra.Command) {
	// Arguments: those of sessions are found by their usage line.
	switch {
	case c.ValidArgsFunction != nil:
	case !c.HasParent():
		c.ValidArgsFunction = completeDirectory
	case c.Name() == "salvage" || c.Name() == "trust":
		c.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveFilterDirs)
	case strings.Contains(c.Use, "SESSION…"):
		c.ValidArgsFunction = g.inv.Complete(g.inv.SessionCompletions)
	case strings.Contains(c.Use, "SESSION"):
		c.ValidArgsFunction = cli.FirstOnly(g.inv.Complete(g.inv.SessionCompletions))
	default:
		c.ValidArgsFunction = g.inv.CompleteFirst(c)
	}
	// Values of flags, the same for a flag of a name in all commands.
	for name, f := range map[string]cobra.CompletionFunc{
		"format":   cli.FixedCompletions("text", "json"),
		"ask":      cli.FixedCompletions("deny", "allow", "fail", "wait:5m"),
		"sandbox":  cli.FixedCompletions("off", "writes", "strict"),
		"command":  g.inv.Complete(cli.CommandCompletions),
		"session":  g.inv.Complete(g.inv.SessionCompletions),
		"agent":    g.inv.Complete(cli.AgentCompletions),
		"worktree": g.inv.Complete(cli.WorktreeCompletions),
		"model":    g.inv.Complete(cli.ModelCompletions),
	} {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, f) // fails if the command has its own
		}
	}
	for _, sub := range c.Commands() {
		g.addCompletions(sub)
	}
}
