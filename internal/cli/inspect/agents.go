package inspect

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// agentCommands are `cairn agent …`.
type agentCommands struct{ inv *cli.Invocation }

func (g agentCommands) agentCommand() *cobra.Command {
	return cli.GroupCommand(
		&cobra.Command{Use: "agent", Short: "List, show and create agents"},
		g.agentListCommand(), g.agentShowCommand(), g.agentCreateCommand(),
	)
}

// withAgents runs f with the agents of this directory.
func (g agentCommands) withAgents(ctx context.Context, f func([]session.Agent) error) error {
	return g.inv.WithClient(ctx, func(ctx context.Context, c *api.Client) error {
		list, err := c.Agents(ctx)
		if err != nil {
			return err
		}
		return f(list.Data)
	})
}

func (g agentCommands) agentListCommand() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the agents of this directory, the default first", Args: cobra.NoArgs,
		Example: "  cairn agent list\n  cairn agent list --all",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			return g.withAgents(ctx, func(agents []session.Agent) error {
				agents = slices.DeleteFunc(agents, func(x session.Agent) bool { return x.Hidden && !all })
				if g.inv.JSON {
					return g.inv.PrintJSON(agents)
				}
				t := g.inv.NewTable("AGENT", "MODE", "MODEL", "TURNS", "WHAT FOR")
				t.Right = []string{"TURNS"}
				for _, x := range agents {
					mode := string(x.Mode)
					if x.Hidden {
						mode += ", hidden"
					}
					t.AddRow(terminal.FirstLine(x.ID, 60), mode, modelOf(x), turnsOf(x), terminal.FirstLine(x.Description, 100))
				}
				t.Print()
				g.noteLeftOut(ctx)
				return nil
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "include agents that only cairn calls")
	return g.inv.AddJSONFlag(cmd)
}

// noteLeftOut names files and values of agents that are left out.
func (g agentCommands) noteLeftOut(ctx context.Context) {
	cfg, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return
	}
	for _, w := range config.GroupWarnings(cfg.Warnings) {
		ofAgent := strings.HasPrefix(w.Key, "agent.") || strings.Contains(filepath.ToSlash(w.File), "/agent")
		if w.Kind == config.WarnUnread && ofAgent {
			g.inv.Note(terminal.FirstLine(w.String(), 400))
		}
	}
}

func modelOf(x session.Agent) string {
	if x.Model == nil {
		return "-"
	}
	if x.Model.Variant != "" {
		return terminal.FirstLine(x.Model.String()+"#"+x.Model.Variant, 60)
	}
	return terminal.FirstLine(x.Model.String(), 60)
}

func turnsOf(x session.Agent) string {
	if x.Steps == 0 {
		return "-"
	}
	return strconv.Itoa(x.Steps)
}

func (g agentCommands) agentShowCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "show NAME", Short: "Show an agent: its rules and its prompt", Args: cobra.ExactArgs(1),
		Example: "  cairn agent show plan",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			return g.withAgents(ctx, func(agents []session.Agent) error {
				i := slices.IndexFunc(agents, func(x session.Agent) bool { return x.ID == args[0] })
				if i < 0 {
					return cli.NewExitError(
						cli.ExitUsage,
						session.NotFound("agent", args[0], spelling.FindNearest(args[0], agentNames(agents), 3)...),
						"cairn agent list shows the agents",
					)
				}
				shown := shownAgent{agents[i], g.untrustedRules(ctx, args[0])}
				return cli.PrintResult(g.inv, shown, g.showAgent)
			})
		}),
	})
}

func agentNames(agents []session.Agent) []string {
	var names []string
	for _, x := range agents {
		names = append(names, x.ID)
	}
	return names
}

// shownAgent is an agent with the rules that files of the project give it while they are not trusted. Its own
// permissions do not hold those.
type shownAgent struct {
	session.Agent
	Untrusted []untrustedRule `json:"untrusted,omitzero"`
}

// untrustedRule is a rule that may forbid and ask, and allow only what its own file forbids before it.
type untrustedRule struct {
	session.Rule
	Source string `json:"source"`
	Holds  bool   `json:"holds"`
	Why    string `json:"why"`
}

// untrustedRules lists the rules that the project's untrusted files give the agent; nil if the configuration cannot be
// read.
func (g agentCommands) untrustedRules(ctx context.Context, agent string) (rules []untrustedRule) {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return nil
	}
	cfg, err := g.inv.Host.Config(ctx, o)
	if err != nil {
		return nil
	}
	for _, list := range cfg.AgentRules(agent) {
		if !list.Project || list.Trusted {
			continue
		}
		idle := list.IdleRules()
		for i, r := range list.Rules {
			u := untrustedRule{r, list.Positions[i].String(), true, "a project may always forbid and ask"}
			switch {
			case slices.Contains(idle, i):
				u.Holds, u.Why = false, "a project allows nothing until it is trusted: see cairn trust"
			case r.Effect == session.Allow:
				u.Why = "it lifts a restriction of the same file and allows nothing beyond the other rules"
			}
			rules = append(rules, u)
		}
	}
	return rules
}

// showAgent prints an agent for people. All texts of the configuration are cut or have their control characters
// replaced.
func (g agentCommands) showAgent(x shownAgent) {
	// Its name and its settings, without those that have no value.
	g.inv.Out.Printf(
		"%s (%s)  %s\n",
		g.inv.Out.PaintText(terminal.Bold, terminal.FirstLine(x.ID, 100)),
		x.Mode,
		terminal.FirstLine(x.Description, 300),
	)
	for _, f := range []struct{ name, value string }{
		{"model", modelOf(x.Agent)},
		{"turns", turnsOf(x.Agent)},
		{"colour", terminal.FirstLine(x.Color, 40)},
	} {
		if f.value != "" && f.value != "-" {
			g.inv.Out.Printf("%s: %s\n", f.name, f.value)
		}
	}
	// Its rules; rules of an untrusted project are listed apart, with the effect that they have.
	if len(x.Permissions) > 0 {
		g.inv.Out.Printf("\nRules of its own, the last that matches wins:\n")
		for _, r := range x.Permissions {
			g.inv.Out.Printf("  %s %s %s\n", r.Effect, terminal.FirstLine(r.Action, 60), terminal.FirstLine(r.Resource, 200))
		}
	}
	if len(x.Untrusted) > 0 {
		g.inv.Out.Printf("\nRules of this project's files, which are not trusted:\n")
		for _, r := range x.Untrusted {
			g.inv.Out.Printf(
				"  %s %s %s  (%s)\n    %s: %s\n",
				r.Effect,
				terminal.FirstLine(r.Action, 60),
				terminal.FirstLine(r.Resource, 200),
				terminal.FirstLine(r.Source, 300),
				describeEffect(r.Holds),
				r.Why,
			)
		}
	}
	// The system prompt last, because it is long.
	if x.System != "" {
		g.inv.Out.Printf("\n%s\n", terminal.ReplaceControls(x.System))
	}
}

func describeEffect(yes bool) string {
	if yes {
		return "holds"
	}
	return "has no effect"
}
