package cli

import (
	"context"
	"path/filepath"
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
				q := api.Inquiry{Action: config.Action(args[0]), Resources: args[1:], Agent: agent}
				if name != "" {
					s, err := a.find(ctx, c, name)
					if err != nil {
						return err
					}
					q.SessionID = s.ID
				}
				v, err := verdict(ctx, c, q)
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

// verdict asks about a call as its tool would: a command is one text, and paths are relative to the project. What lies
// outside needs its directory too.
func verdict(ctx context.Context, c *api.Client, q api.Inquiry) (api.Verdict, error) {
	switch q.Action {
	case "bash":
		q.Resources = []string{strings.Join(q.Resources, " ")}
		return c.Verdict(ctx, q)
	case "edit", "read", "list":
	default:
		return c.Verdict(ctx, q)
	}
	at, err := c.Location(ctx)
	if err != nil {
		return api.Verdict{}, err
	}
	outside := q
	outside.Action, outside.Resources = "external_directory", nil
	for i, path := range q.Resources {
		inside := false
		if q.Resources[i], inside = resourceOf(at, path); !inside {
			outside.Resources = append(outside.Resources, filepath.ToSlash(filepath.Dir(q.Resources[i]))+"/*")
		}
	}
	v, err := c.Verdict(ctx, q)
	if err != nil || len(outside.Resources) == 0 {
		return v, err
	}
	o, err := c.Verdict(ctx, outside)
	if o.Effect == session.Deny || o.Effect == session.Ask && v.Effect == session.Allow {
		v.Effect = o.Effect
	}
	v.Parts = append(o.Parts, v.Parts...)
	return v, err
}

// resourceOf is a path as rules see it, and whether it lies in the project.
func resourceOf(at api.LocationInfo, path string) (string, bool) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(at.Directory, path)
	}
	for _, root := range []string{at.Project.Directory, at.Directory} {
		rel, err := filepath.Rel(root, path)
		if err == nil && root != filepath.Dir(root) && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel), true
		}
	}
	return filepath.ToSlash(filepath.Clean(path)), false
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
