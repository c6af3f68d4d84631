package admin

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client/describe/style"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"
)

// configCommands are `cairn config …`.
type configCommands struct{ inv *cli.Invocation }

func (g configCommands) configCommand() *cobra.Command {
	return cli.GroupCommand(
		&cobra.Command{Use: "config", Short: "Show and change the configuration"},
		g.configExplainCommand(), g.configSetCommand(), g.configUnsetCommand(), g.configSchemaCommand(),
	)
}

func (g configCommands) configExplainCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "explain [KEY]", Aliases: []string{"get"}, Short: "Show each value with its file and line, and the values it overrides",
		Args: cobra.MaximumNArgs(1),
		Long: "Show where each value comes from, and every error in any configuration file. Exit with 2 if there are\n" +
			"errors.",
		Example: "  cairn config explain\n  cairn config explain model\n  cairn config explain provider.openai --json",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			c, err := g.inv.LoadConfig(ctx)
			if err != nil {
				return err
			}
			return g.explainConfig(c, cli.FirstArg(args, ""))
		}),
	})
}

func (g configCommands) configSchemaCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration", Args: cobra.NoArgs,
		Example: "  cairn config schema > config.schema.json",
		RunE: g.inv.Action(func(context.Context, []string) error {
			s, err := config.BuildSchema()
			if err != nil {
				return fmt.Errorf("make the schema: %w", err)
			}
			_, err = g.inv.Out.JSON().Write(append(s, '\n'))
			return err
		}),
	}) // it is JSON anyway
}

// configEdit is one change of a configuration file.
type configEdit struct {
	key     string
	text    string           // the value as it was typed
	values  []jsontext.Value // tried in order; nil removes the key
	project bool
}

// describe returns what the audit log has of the change: of values only those of rules, because others may be secrets.
func (e configEdit) describe() string {
	verb, value := "set", ""
	if e.values[0] == nil {
		verb = "unset"
	} else if strings.Contains(e.key, "permission") {
		value = " = " + string(e.values[0])
	}
	return fmt.Sprintf("%s %s%s in the configuration of the %s", verb, e.key, value,
		map[bool]string{true: "project", false: "user"}[e.project])
}

func (g configCommands) configSetCommand() *cobra.Command {
	var e configEdit
	cmd := &cobra.Command{
		Use: "set KEY VALUE", Short: "Set a value; the rest of the file stays as it is", Args: cobra.ExactArgs(2),
		Long: "Set a value in your own configuration, or with --project in the project's. VALUE is parsed as JSON, or\n" +
			"else used as text. Put a part of KEY that contains dots in quotes.",
		Example: "  cairn config set model openai/gpt-5.2\n  cairn config set compaction.auto false\n" +
			"  cairn config set 'permission.bash.\"git push *\"' deny --project",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			e.key, e.text = args[0], args[1]
			text, err := jsontext.AppendQuote(nil, args[1])
			if err != nil {
				return cli.UsageErrorf("VALUE is not valid UTF-8")
			}
			if v := jsontext.Value(args[1]); v.IsValid() {
				e.values = append(e.values, v)
			}
			e.values = append(e.values, text)
			return g.editConfig(ctx, e)
		}),
	}
	return g.addEditFlags(cmd, &e)
}

func (g configCommands) configUnsetCommand() *cobra.Command {
	var e configEdit
	cmd := &cobra.Command{
		Use: "unset KEY", Short: "Remove a value; the rest of the file stays as it is", Args: cobra.ExactArgs(1),
		Example: "  cairn config unset model",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			e.key, e.values = args[0], []jsontext.Value{nil}
			return g.editConfig(ctx, e)
		}),
	}
	return g.addEditFlags(cmd, &e)
}

func (g configCommands) addEditFlags(cmd *cobra.Command, e *configEdit) *cobra.Command {
	cmd.Flags().BoolVar(&e.project, "project", false, "change the project's cairn.json instead of your own")
	return g.inv.AddJSONFlag(cmd)
}

func (g configCommands) editConfig(ctx context.Context, e configEdit) error {
	c, err := g.inv.LoadConfig(ctx)
	if err != nil {
		return err
	}
	// Check the key and the value, then record the change and make it.
	if e.values[0] != nil {
		err := config.CheckKey(e.key)
		if err == nil && e.key == "terminal.theme" { // the themes are those of the interface
			_, err = style.New(e.text, g.inv.Env)
		}
		if err != nil {
			return cli.NewExitError(cli.ExitUsage, err, "Nothing was changed. cairn config schema lists all keys.")
		}
	}
	if err := g.inv.RecordSettings(ctx, e.describe()); err != nil {
		return err
	}
	file, err := c.ChangeValue(ctx, e.project, e.key, e.values)
	if err != nil {
		return &cli.ExitError{Code: cli.CodeOf(err), Err: err, Hint: "Nothing was changed."}
	}
	g.inv.ReportChange(cli.Change{File: file, Key: e.key}, fmt.Sprintf("Changed %s.", file))
	// Say why the new value may have no effect.
	if c, err = g.inv.LoadConfig(ctx); err != nil {
		return err
	}
	for _, w := range c.Warnings { // such as a key of OpenCode without effect
		if e.values[0] != nil && w.Key == e.key && w.File == file {
			g.inv.Note(w.String() + describeOwnKey(e))
		}
	}
	if now := c.Explain(e.key); len(now) == 1 && now[0].Source.File != file && e.values[0] != nil {
		g.inv.Note(fmt.Sprintf("%s is still %s: %s overrides it", e.key, now[0].Value, now[0].Source))
	}
	return nil
}

// describeOwnKey names cairn's key for one of OpenCode's that has no effect, "" for other keys.
func describeOwnKey(e configEdit) string {
	switch e.key {
	case "theme":
		return "; its own key: cairn config set terminal.theme NAME"
	case "keybinds":
		return "; its own key: cairn config set terminal.keys.ACTION KEY"
	}
	return ""
}

// explainConfig prints where the values of a key come from, with what they override, or all values for "". It returns
// an error if the configuration is broken, after the output.
func (g configCommands) explainConfig(c *config.Config, key string) error {
	// A key without values may be misspelled: an unknown one is an error, an unset one is not.
	origins := append([]config.Origin{}, c.Explain(key)...)
	if len(origins) == 0 && key != "" {
		if err := config.CheckKey(key); err != nil {
			return cli.NewExitError(cli.ExitUsage, err, "cairn config schema lists all keys")
		}
	}
	// For programs: everything in one object.
	if g.inv.JSON {
		err := g.inv.PrintJSON(struct {
			Values   []config.Origin  `json:"values"`
			Warnings []config.Warning `json:"warnings"`
			Errors   []*config.Error  `json:"errors"`
		}{origins, append([]config.Warning{}, c.Warnings...), append([]*config.Error{}, c.Errors...)})
		return cmp.Or(err, errBrokenConfig(c))
	}
	// For people: each value with its origin; warnings and errors go to stderr.
	if len(origins) == 0 {
		g.inv.Err.Printf("%q is not set.\n", terminal.FirstLine(key, 80))
	}
	for _, o := range origins {
		g.inv.Out.Printf(
			"%s = %s\n",
			g.inv.Out.PaintText(terminal.Bold, terminal.FirstLine(o.Key, 100)),
			terminal.FirstLine(string(o.Value), 200),
		)
		g.inv.Out.Printf("    %s\n", g.inv.Out.PaintText(terminal.Dim, terminal.FirstLine(o.Source.String(), 200)))
		for _, below := range o.Overrode {
			g.inv.Out.Printf(
				"    %s\n",
				g.inv.Out.PaintText(
					terminal.Dim,
					"overrides "+terminal.FirstLine(string(below.Value), 100)+" from "+terminal.FirstLine(below.Source.String(), 200),
				),
			)
		}
	}
	for _, w := range config.GroupWarnings(c.Warnings) {
		g.inv.Err.Printf("! %s\n", terminal.FirstLine(w.String(), 400))
	}
	for _, e := range c.Errors {
		g.inv.Err.Printf("%s %s\n", g.inv.Err.PaintText(terminal.Red, g.inv.Marks.Bad), terminal.FirstLine(e.Error(), 400))
	}
	return errBrokenConfig(c)
}

// errBrokenConfig is the error of an invalid configuration, whose errors are printed already; nil for a valid one.
func errBrokenConfig(c *config.Config) error {
	if len(c.Errors) == 0 {
		return nil
	}
	return &cli.ExitError{Code: cli.ExitUsage}
}
