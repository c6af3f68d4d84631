package cli

import (
	"context"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) agentCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "agent", Short: "List, show and make agents"}
	cmd.AddCommand(a.agentListCommand(), a.agentShowCommand(), a.agentCreateCommand())
	return parent(cmd)
}

// withAgents runs f with the agents of this directory.
func (a *app) withAgents(ctx context.Context, f func([]session.Agent) error) error {
	return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
		list, err := c.Agents(ctx)
		if err != nil {
			return err
		}
		return f(list.Data)
	})
}

func (a *app) agentListCommand() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List the agents that can work here; the first is the default", Args: cobra.NoArgs,
		Example: "  cairn agent list\n  cairn agent list --all",
		RunE: a.does(func(ctx context.Context, _ []string) error {
			return a.withAgents(ctx, func(agents []session.Agent) error {
				agents = slices.DeleteFunc(agents, func(x session.Agent) bool { return x.Hidden && !all })
				if asJSON {
					return a.printJSON(append([]session.Agent{}, agents...))
				}
				t := a.table("AGENT", "MODE", "MODEL", "TURNS", "WHAT FOR")
				for _, x := range agents {
					mode := string(x.Mode)
					if x.Hidden {
						mode += ", hidden"
					}
					t.row(line(x.ID, 60), mode, modelOf(x), turnsOf(x), line(x.Description, 100))
				}
				t.print()
				return nil
			})
		}),
	}
	cmd.Flags().BoolVar(&all, "all", false, "also those that cairn itself calls")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func modelOf(x session.Agent) string {
	if x.Model == nil {
		return "-"
	}
	if x.Model.Variant != "" {
		return line(x.Model.String()+"#"+x.Model.Variant, 60)
	}
	return line(x.Model.String(), 60)
}

func turnsOf(x session.Agent) string {
	if x.Steps == 0 {
		return "-"
	}
	return strconv.Itoa(x.Steps)
}

func (a *app) agentShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show NAME", Short: "Show an agent: its rules and its prompt", Args: cobra.ExactArgs(1), Example: "  cairn agent show plan",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.withAgents(ctx, func(agents []session.Agent) error {
				i := slices.IndexFunc(agents, func(x session.Agent) bool { return x.ID == args[0] })
				if i < 0 {
					return &exit{exitUsage, session.NotFound("agent", args[0], nearest(args[0], agentNames(agents))...), "cairn agent list shows what there is"}
				}
				shown := shownAgent{agents[i], a.untrustedRules(ctx, args[0])}
				if asJSON {
					return a.printJSON(shown)
				}
				a.showAgent(shown)
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func agentNames(agents []session.Agent) []string {
	var names []string
	for _, x := range agents {
		names = append(names, x.ID)
	}
	return names
}

// shownAgent is an agent with the rules that files of the project give it while they are not trusted. Its own permissions
// do not hold those.
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

// untrustedRules lists what the project's files say of the agent and may not all mean; nothing when the configuration
// cannot be read, which whoever needs it says.
func (a *app) untrustedRules(ctx context.Context, agent string) (rules []untrustedRule) {
	o, err := a.options("")
	if err != nil {
		return nil
	}
	cfg, err := a.host.Config(ctx, o)
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
				u.Why = "it takes back what the same file forbids, and allows no more than there is without the file"
			}
			rules = append(rules, u)
		}
	}
	return rules
}

func (a *app) showAgent(x shownAgent) {
	a.out.printf("%s (%s)  %s\n", a.out.paint(bold, line(x.ID, 100)), x.Mode, line(x.Description, 300))
	for _, f := range []struct{ name, value string }{{"model", modelOf(x.Agent)}, {"turns", turnsOf(x.Agent)}, {"colour", line(x.Color, 40)}} {
		if f.value != "" && f.value != "-" {
			a.out.printf("%s: %s\n", f.name, f.value)
		}
	}
	if len(x.Permissions) > 0 {
		a.out.printf("\nRules of its own, the last that matches wins:\n")
		for _, r := range x.Permissions {
			a.out.printf("  %s %s %s\n", r.Effect, line(r.Action, 60), line(r.Resource, 200))
		}
	}
	if len(x.Untrusted) > 0 {
		a.out.printf("\nRules of this project's files, which are not trusted:\n")
		for _, r := range x.Untrusted {
			a.out.printf("  %s %s %s  (%s)\n    %s: %s\n", r.Effect, line(r.Action, 60), line(r.Resource, 200), line(r.Source, 300), holds(r.Holds), r.Why)
		}
	}
	if x.System != "" {
		a.out.printf("\n%s\n", harmless(x.System))
	}
}

func holds(yes bool) string {
	if yes {
		return "holds"
	}
	return "has no effect"
}
