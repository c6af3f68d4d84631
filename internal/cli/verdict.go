package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/session"
)

func (a *app) permissionExplain() *cobra.Command {
	var asJSON bool
	var agent, name string
	cmd := &cobra.Command{
		Use: "explain TOOL ARGS…", Short: "Say what the rules decide about a call, by which rule, and where it stands", Args: cobra.MinimumNArgs(2),
		Long: "Explain asks nobody and runs nothing. Behind bash stands a command, behind the tools for files their paths, behind\n" +
			"others what they ask for: an address, a name. Of a command each part is decided about; … stands for what is not\n" +
			"known beforehand.",
		Example: "  cairn permission explain bash 'git push --force && rm -rf build'\n  cairn permission explain edit src/main.go --agent plan",
		RunE: a.does(func(ctx context.Context, args []string) error {
			return a.connected(ctx, func(ctx context.Context, c *api.Client) error {
				q := api.Inquiry{Action: config.ActionName(args[0]), Resources: args[1:], Agent: agent}
				if name != "" {
					s, err := a.find(ctx, c, name)
					if err != nil {
						return err
					}
					q.SessionID = s.ID
				}
				if q.Action == "bash" { // a command is one text
					q.Resources = []string{strings.Join(q.Resources, " ")}
				}
				v, err := c.Verdict(ctx, q)
				if err != nil {
					return err
				}
				if asJSON {
					return a.printJSON(v)
				}
				a.showVerdict(v)
				return nil
			})
		}),
	}
	jsonFlag(cmd, &asJSON)
	cmd.Flags().StringVar(&agent, "agent", "", "as this agent")
	cmd.Flags().StringVarP(&name, "session", "s", "", "in this session, with its own rules")
	return cmd
}

// showVerdict prints the effect first, then each part with its rule.
func (a *app) showVerdict(v api.Verdict) {
	a.out.printf("%s\n", a.out.paint(bold, string(v.Effect)))
	for _, p := range v.Parts {
		a.out.printf("  %s: %s\n", p.Effect, line(p.Resource, 200))
		switch {
		case p.Rule == nil:
			a.out.printf("    %s\n", a.out.paint(dim, "no rule matches, so it asks"))
			continue
		case p.Possible:
			a.out.printf("    it may turn out to match %s\n", ruleText(*p.Rule))
		default:
			a.out.printf("    %s\n", ruleText(*p.Rule))
		}
		a.out.printf("    %s\n", a.out.paint(dim, line(strings.TrimSpace(p.Layer+" "+p.Source), 300)))
	}
}

func ruleText(r session.Rule) string {
	return line(r.Action+" "+quoted(r.Resource)+": "+string(r.Effect), 300)
}

func quoted(s string) string { return `"` + s + `"` }
