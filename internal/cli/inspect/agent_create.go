package inspect

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
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/frontmatter"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
)

// agentSpec holds the flags of agent create.
type agentSpec struct {
	description, mode, model, prompt, color string
	path, allowed                           string // OpenCode's: where to, and all that it may do
	restricted                              bool   // allowed was said
	steps                                   int
	global                                  bool
}

// agentCreateCommand returns the command that creates an agent; createAgent does the work.
func (g agentCommands) agentCreateCommand() *cobra.Command {
	var n agentSpec
	cmd := &cobra.Command{
		Use: "create [NAME]", Short: "Create an agent as a Markdown file", Args: cobra.MaximumNArgs(1),
		Long: "Write .cairn/agent/NAME.md in the project, or with --global in your own configuration. Existing files are\n" +
			"never overwritten. Without NAME, the name is derived from the first words of --description. The body of\n" +
			"the file is the agent's prompt; its frontmatter has the fields of an agent in the configuration.",
		Example: "  cairn agent create review --mode subagent --description \"Reviews a change\" " +
			"--prompt \"Review what changed.\"\n" +
			"  cairn agent create docs --prompt - < prompt.md",
	}
	fs := cmd.Flags()
	cmd.RunE = g.inv.Action(func(ctx context.Context, args []string) error {
		// An empty list restricts the agent as well, so the presence of the flag counts.
		n.restricted = fs.Changed("permissions") || fs.Changed("tools")
		return g.createAgent(ctx, cli.FirstArg(args, n.deriveName()), n)
	})
	fs.StringVar(&n.description, "description", "", "describe with `TEXT` when to use the agent; other agents see it")
	fs.StringVar(
		&n.mode,
		"mode",
		"",
		"set its `MODE`: primary (selected by users), subagent (called by agents) or all (default)",
	)
	_ = cmd.RegisterFlagCompletionFunc("mode", cli.FixedCompletions("primary", "subagent", "all")) // the flag exists
	fs.StringVarP(&n.model, "model", "m", "", "use the model `PROVIDER/MODEL`")
	fs.StringVar(&n.prompt, "prompt", "", "set the system prompt to `TEXT`; - reads it from standard input")
	fs.StringVar(&n.color, "color", "", "set its `COLOUR`, as #rrggbb")
	fs.IntVar(&n.steps, "steps", 0, "allow this many `TURNS` for one prompt")
	fs.BoolVar(&n.global, "global", false, "create the agent in your own configuration, for all projects")
	fs.StringVar(&n.path, "path", "", "create the agent in agents/ below this `DIRECTORY`")
	fs.StringVar(
		&n.allowed,
		"permissions",
		"",
		"allow only this comma-separated `LIST` of "+strings.Join(grantable, ", ")+" (default all)",
	)
	fs.StringVar(&n.allowed, "tools", "", "")
	cli.HideFlags(fs, "tools") // OpenCode's older name
	cmd.MarkFlagsMutuallyExclusive("path", "global")
	return g.inv.AddJSONFlag(cmd)
}

// grantable are the permissions that OpenCode's --permissions knows; those that it does not name are denied.
var grantable = []string{
	"bash",
	"read",
	"edit",
	"glob",
	"grep",
	"webfetch",
	"task",
	"todowrite",
	"websearch",
	"lsp",
	"skill",
}

// deriveName is a name from the first words of the description, as there is no model to think of one.
func (n *agentSpec) deriveName() string {
	words := strings.FieldsFunc(
		strings.ToLower(n.description),
		func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') },
	)
	return strings.Join(words[:min(len(words), 4)], "-")
}

// denyRule is the rule for what was not named, as JSON, which YAML takes.
func (n *agentSpec) denyRule() (string, error) {
	if !n.restricted {
		return "", nil
	}
	rules := map[string]string{}
	for _, name := range grantable {
		rules[name] = string(session.Deny)
	}
	for name := range strings.SplitSeq(n.allowed, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if !slices.Contains(grantable, name) {
			return "", cli.UsageErrorf(
				"--permissions must be a list of %s, got %q",
				strings.Join(grantable, ", "),
				terminal.FirstLine(name, 40),
			)
		}
		delete(rules, name)
	}
	if len(rules) == 0 {
		return "", nil
	}
	b, err := json.Marshal(rules, json.Deterministic(true))
	return string(b), err
}

var agentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$`)

// createAgent writes the file of a new agent. An existing file is never overwritten.
func (g agentCommands) createAgent(ctx context.Context, name string, n agentSpec) error {
	// Check the name, which becomes a file name, and the settings.
	if name == "" {
		return cli.UsageErrorf("the agent has no name; give NAME or --description")
	}
	if !agentName.MatchString(name) || len(name) > 100 {
		return cli.UsageErrorf(
			"an agent's name must consist of letters, digits, dots, dashes and slashes, got %q",
			terminal.FirstLine(name, 60),
		)
	}
	if err := n.check(); err != nil {
		return err
	}
	// Complete the settings: the prompt from stdin, and a rule for the tools that are not allowed.
	if n.prompt == "-" {
		text, err := g.inv.ReadPrompt([]string{"-"})
		if err != nil {
			return err
		}
		n.prompt = text
	}
	denied, err := n.denyRule()
	if err != nil {
		return err
	}
	// Write the file and name it.
	path, err := g.agentFile(ctx, name, n)
	if err != nil {
		return err
	}
	if err := writeNew(path, n.formatMarkdown(name, denied)); errors.Is(err, fs.ErrExist) {
		return cli.NewExitError(cli.ExitUsage, fmt.Errorf("%s exists already", path), "Edit it, or choose another name.")
	} else if err != nil {
		return fmt.Errorf("write the agent: %w", err)
	}
	g.inv.ReportChange(cli.Change{File: path}, fmt.Sprintf("Created the agent %s in %s.", name, path))
	return nil
}

// check tells what would make a file that cannot be read, and puts the rest into the form of files.
func (n *agentSpec) check() error {
	switch session.AgentMode(n.mode) {
	case "", session.ModePrimary, session.ModeSubagent, session.ModeAll:
	default:
		return cli.UsageErrorf("--mode must be primary, subagent or all, got %q", terminal.FirstLine(n.mode, 40))
	}
	if err := config.Color(n.color).Validate(); err != nil {
		return cli.UsageErrorf("--color: %w, got %q", err, terminal.FirstLine(n.color, 40))
	}
	if n.steps < 0 {
		return cli.UsageErrorf("--steps must be more than 0, got %d", n.steps)
	}
	ref, err := cli.ParseModel(n.model)
	if ref != nil && ref.Variant != "" {
		n.model = ref.String() + "#" + ref.Variant // as files have it
	}
	return err
}

// agentFile returns the path of the new agent, or an error if an agent of that name exists.
func (g agentCommands) agentFile(ctx context.Context, name string, n agentSpec) (string, error) {
	if n.path != "" {
		dir, err := g.inv.ResolvePath(n.path)
		return filepath.Join(dir, "agents", filepath.FromSlash(name)+".md"), err
	}
	cfg, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return "", err
	}
	if _, exists := cfg.Agent[name]; exists {
		from := cfg.Explain("agent." + name)
		if len(from) > 0 {
			return "", cli.NewExitError(
				cli.ExitUsage,
				fmt.Errorf("the agent %s exists already, in %s", name, from[0].Source),
				"Edit it there, or choose another name.",
			)
		}
	}
	dir := filepath.Join(cfg.Claim.Root, ".cairn")
	if n.global {
		dir = cfg.Dirs.Config
	}
	return filepath.Join(dir, "agent", filepath.FromSlash(name)+".md"), nil
}

func (n *agentSpec) formatMarkdown(name, denied string) []byte {
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
		{Key: "permission", Text: denied, Bare: true},
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
