package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/api"
	"github.com/cairn-dev/cairn/internal/frontmatter"
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
			if a.asOpenCode() && !asJSON {
				return a.connected(ctx, a.listAgentsAsOpenCode)
			}
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
		idle := list.Idle()
		for i, r := range list.Rules {
			u := untrustedRule{r, list.Places[i].String(), true, "a project may always forbid and ask"}
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

// newAgent is what can be said of an agent to make.
type newAgent struct {
	description, mode, model, prompt, color string
	steps                                   int
	global, asJSON                          bool
}

func (a *app) agentCreateCommand() *cobra.Command {
	var n newAgent
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make an agent, as a Markdown file to edit", Args: cobra.ExactArgs(1),
		Long: "Create writes .cairn/agent/NAME.md in the project, or with --global in your own configuration. It never\n" +
			"overwrites one. The text of the file is the agent's prompt, the fields above it are those of an agent\n" +
			"in the configuration.",
		Example: "  cairn agent create review --mode subagent --description \"Reviews a change\" --prompt \"Review what changed.\"\n" +
			"  cairn agent create docs --prompt - < prompt.md",
		RunE: a.does(func(ctx context.Context, args []string) error { return a.createAgent(ctx, args[0], n) }),
	}
	fs := cmd.Flags()
	fs.StringVar(&n.description, "description", "", "when to use it; other agents see this")
	fs.StringVar(&n.mode, "mode", "", "primary: people choose it; subagent: agents call it; all: both (default)")
	fs.StringVarP(&n.model, "model", "m", "", "the model that answers, as `PROVIDER/MODEL`")
	fs.StringVar(&n.prompt, "prompt", "", "its system prompt; - reads it from standard input")
	fs.StringVar(&n.color, "color", "", "its colour, as #rrggbb")
	fs.IntVar(&n.steps, "steps", 0, "turns that it may take for one prompt")
	fs.BoolVar(&n.global, "global", false, "for all projects, in your own configuration")
	jsonFlag(cmd, &n.asJSON)
	return cmd
}

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

func (a *app) createAgent(ctx context.Context, name string, n newAgent) error {
	if !agentName.MatchString(name) || len(name) > 100 {
		return usagef("an agent's name is letters, digits, dots, dashes and slashes, got %q", line(name, 60))
	}
	if err := n.check(); err != nil {
		return err
	}
	if n.prompt == "-" {
		text, err := a.promptText([]string{"-"})
		if err != nil {
			return err
		}
		n.prompt = text
	}
	path, err := a.agentFile(ctx, name, n.global)
	if err != nil {
		return err
	}
	if err := writeNew(path, n.markdown(name)); errors.Is(err, fs.ErrExist) {
		return &exit{exitUsage, fmt.Errorf("%s is there already", path), "Edit it, or take another name."}
	} else if err != nil {
		return fmt.Errorf("write the agent: %w", err)
	}
	a.changed(n.asJSON, change{File: path}, fmt.Sprintf("The agent %s is in %s; edit it there.", name, path))
	return nil
}

// check tells what would make a file that cannot be read, and puts the rest into the form of files.
func (n *newAgent) check() error {
	switch session.AgentMode(n.mode) {
	case "", session.ModePrimary, session.ModeSubagent, session.ModeAll:
	default:
		return usagef("--mode must be primary, subagent or all, got %q", line(n.mode, 40))
	}
	if n.steps < 0 {
		return usagef("--steps must be more than 0, got %d", n.steps)
	}
	ref, err := parseModel(n.model)
	if ref != nil && ref.Variant != "" {
		n.model = ref.String() + "#" + ref.Variant // as files have it
	}
	return err
}

// agentFile is where the agent is made, if there is none of its name yet.
func (a *app) agentFile(ctx context.Context, name string, global bool) (string, error) {
	cfg, err := a.configuration(ctx)
	if err != nil {
		return "", err
	}
	if _, exists := cfg.Agent[name]; exists {
		from := cfg.Explain("agent." + name)
		if len(from) > 0 {
			return "", &exit{exitUsage, fmt.Errorf("the agent %s is there already, in %s", name, from[0].Source), "Edit it there, or take another name."}
		}
	}
	dir := filepath.Join(cfg.Claim.Root, ".cairn")
	if global {
		dir = cfg.Dirs.Config
	}
	return filepath.Join(dir, "agent", filepath.FromSlash(name)+".md"), nil
}

func (n *newAgent) markdown(name string) []byte {
	steps := ""
	if n.steps > 0 {
		steps = strconv.Itoa(n.steps)
	}
	if n.prompt == "" {
		n.prompt = "You are " + name + ". Say here what you do, how, and what you never do."
	}
	return frontmatter.Format([]frontmatter.Field{
		{Key: "description", Text: n.description},
		{Key: "mode", Text: n.mode},
		{Key: "model", Text: n.model},
		{Key: "color", Text: n.color},
		{Key: "steps", Text: steps, Bare: true},
	}, n.prompt)
}

// writeNew writes a file that must not exist.
func writeNew(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}
