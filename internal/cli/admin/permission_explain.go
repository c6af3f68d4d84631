package admin

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/permission"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/spelling"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// permissionExplain returns the command that evaluates the permission rules for a call without making it.
func (g permissionCommands) permissionExplain() *cobra.Command {
	var agent, name string
	cmd := &cobra.Command{
		Use: "explain TOOL [ARGS…]", Short: "Explain what the rules decide about a call, and which rule in which file",
		Args: cobra.MinimumNArgs(1),
		Long: "Evaluate the permission rules without running anything. ARGS are the command for bash, paths for the file\n" +
			"tools, and for other tools the resource that they ask for, such as a URL or a name; those of MCP servers\n" +
			"have none. Each part of a command is decided separately; … stands for a part that is unknown until the\n" +
			"command runs.",
		Example: "  cairn permission explain bash 'git push --force && rm -rf build'\n" +
			"  cairn permission explain edit src/main.go --agent plan",
		RunE: g.inv.ClientAction(func(ctx context.Context, c *api.Client, args []string) error {
			q := api.PermissionQuery{Action: config.ActionName(args[0]), Resources: args[1:], Agent: agent}
			if len(q.Resources) == 0 {
				if slices.Contains(resourceActions, q.Action) {
					return cli.UsageErrorf("%s needs what it would be called with: a command, path, URL or name", args[0])
				}
				q.Resources = []string{"*"}
			}
			// The rules of a session count only if it is named.
			if name != "" {
				s, err := g.inv.FindSession(ctx, c, name)
				if err != nil {
					return err
				}
				q.SessionID = s.ID
			}
			if q.Action == "bash" { // a command is one text
				q.Resources = []string{strings.Join(q.Resources, " ")}
			}
			// Evaluate. An action that no tool has is an error, as it is probably misspelled.
			v, err := c.ExplainPermission(ctx, q)
			if err == nil {
				err = checkAction(ctx, c, args[0], v)
			}
			if err != nil {
				return err
			}
			if g.inv.JSON {
				return g.inv.PrintJSON(v)
			}
			g.showVerdict(v)
			if name == "" {
				g.noteOpenSession(ctx, c)
			}
			return nil
		}),
	}
	cmd.Flags().StringVar(&agent, "agent", "", "evaluate as this `AGENT`")
	cmd.Flags().StringVarP(&name, "session", "s", "", "include the rules of this `SESSION`")
	return g.inv.AddJSONFlag(cmd)
}

// resourceActions are the actions whose rules tell what a call is for. Others, such as those of MCP servers, have no
// resource to name.
var resourceActions = []string{
	permission.Shell, permission.Edit, "read", "list", "glob", "grep", "webfetch", "websearch", "session_search", "task", "skill", "job",
	"external_directory", "doom_loop", permission.LocalFetch,
}

// checkAction returns a usage error unless the name is that of a tool, or a rule other than "*" decided about it: rules
// name actions that are no tools, such as external_directory.
func checkAction(ctx context.Context, c *api.Client, name string, v api.Verdict) error {
	for _, p := range v.Parts {
		if p.Rule != nil && p.Rule.Action != "*" {
			return nil
		}
	}
	var tools []string
	if err := c.CallV1(ctx, http.MethodGet, "/experimental/tool/ids", nil, &tools); err != nil {
		return err
	}
	for _, t := range tools {
		if t == name || config.ActionName(t) == config.ActionName(name) {
			return nil
		}
	}
	hint := "The tools are " + strings.Join(tools, ", ") + "."
	if near := spelling.FindNearest(name, tools, 3); len(near) > 0 {
		hint = "Did you mean " + strings.Join(near, " or ") + "?"
	}
	return cli.NewExitError(cli.ExitUsage, fmt.Errorf("unknown tool %q", terminal.FirstLine(name, 80)), hint)
}

// noteOpenSession notes that the session which `run --continue` would use does not ask.
func (g permissionCommands) noteOpenSession(ctx context.Context, c *api.Client) {
	if s, err := cli.NewestSession(ctx, c, g.inv.Dir, ""); err == nil && s.Open {
		g.inv.Note("this is for a new session; the newest one of this directory does not ask: add --session last")
	}
}

// showVerdict prints the effect first, then each part with its rule.
func (g permissionCommands) showVerdict(v api.Verdict) {
	g.inv.Out.Printf("%s\n", g.inv.Out.PaintText(terminal.Bold, string(v.Effect)))
	if v.Sandbox != "" {
		g.inv.Out.Printf("  %s\n", g.inv.Out.PaintText(terminal.Dim, "sandbox "+string(v.Sandbox)))
	}
	for _, p := range v.Parts {
		g.inv.Out.Printf("  %s: %s\n", p.Effect, terminal.FirstLine(p.Resource, 200))
		if p.Reason != "" {
			g.inv.Out.Printf("    %s\n", terminal.FirstLine("no pattern allows it: the command "+p.Reason, 300))
		}
		if p.Rule == nil {
			g.inv.Out.Printf("    %s\n", g.inv.Out.PaintText(terminal.Dim, "no rule matches: ask"))
			continue
		}
		g.inv.Out.Printf("    %s\n", ruleText(*p.Rule))
		g.inv.Out.Printf(
			"    %s\n",
			g.inv.Out.PaintText(terminal.Dim, terminal.FirstLine(strings.TrimSpace(p.Layer+" "+p.Source), 300)),
		)
	}
}

func ruleText(r session.Rule) string {
	return terminal.FirstLine(r.Action+" "+quote(r.Resource)+": "+string(r.Effect), 300)
}

func quote(s string) string { return `"` + s + `"` }
