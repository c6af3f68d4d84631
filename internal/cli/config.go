package cli

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/config"
)

func (a *app) configCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show and change the configuration"}
	cmd.AddCommand(a.configExplainCommand(), a.configSetCommand(), a.configUnsetCommand(), a.configSchemaCommand())
	return parent(cmd)
}

func (a *app) configExplainCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "explain [KEY]", Short: "Show each value with its file and line, and what it took the place of", Args: cobra.MaximumNArgs(1),
		Long: "Explain shows where each value comes from, and everything that is wrong in any file. If anything is, the\n" +
			"exit code is 2.",
		Example: "  cairn config explain\n  cairn config explain model\n  cairn config explain provider.openai --json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			c, err := a.configuration(ctx)
			if err != nil {
				return err
			}
			return a.explainConfig(c, first(args, ""), asJSON)
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) configSchemaCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of the configuration", Args: cobra.NoArgs, Example: "  cairn config schema > config.schema.json",
		RunE: a.does(func(context.Context, []string) error {
			s, err := config.Schema()
			if err != nil {
				return fmt.Errorf("make the schema: %w", err)
			}
			_, err = a.out.Write(append(s, '\n'))
			return err
		}),
	}
	jsonFlag(cmd, &asJSON) // it is JSON anyway
	return cmd
}

// configEdit is one change of a configuration file.
type configEdit struct {
	key             string
	values          []jsontext.Value // tried in order; nil removes the key
	project, asJSON bool
}

func (a *app) configSetCommand() *cobra.Command {
	var e configEdit
	cmd := &cobra.Command{
		Use: "set KEY VALUE", Short: "Set a value; comments and all else in the file stay", Args: cobra.ExactArgs(2),
		Long: "Set writes your own configuration, or with --project that of the project. VALUE is JSON, or else text. A\n" +
			"part of KEY that holds dots stands in quotes.",
		Example: "  cairn config set model openai/gpt-5.2\n  cairn config set compaction.auto false\n" +
			"  cairn config set 'permission.bash.\"git push *\"' deny --project",
		RunE: a.does(func(ctx context.Context, args []string) error {
			e.key = args[0]
			text, err := jsontext.AppendQuote(nil, args[1])
			if err != nil {
				return usagef("VALUE is not valid UTF-8")
			}
			if v := jsontext.Value(args[1]); v.IsValid() {
				e.values = append(e.values, v)
			}
			e.values = append(e.values, text)
			return a.editConfig(ctx, e)
		}),
	}
	editFlags(cmd, &e)
	return cmd
}

func (a *app) configUnsetCommand() *cobra.Command {
	var e configEdit
	cmd := &cobra.Command{
		Use: "unset KEY", Short: "Remove a value; all else in the file stays", Args: cobra.ExactArgs(1), Example: "  cairn config unset model",
		RunE: a.does(func(ctx context.Context, args []string) error {
			e.key, e.values = args[0], []jsontext.Value{nil}
			return a.editConfig(ctx, e)
		}),
	}
	editFlags(cmd, &e)
	return cmd
}

// configuration reads what holds in the directory of the call.
func (a *app) configuration(ctx context.Context) (*config.Config, error) {
	o, err := a.options("")
	if err != nil {
		return nil, err
	}
	return a.host.Config(ctx, o)
}

func editFlags(cmd *cobra.Command, e *configEdit) {
	cmd.Flags().BoolVar(&e.project, "project", false, "in the project's own cairn.json")
	jsonFlag(cmd, &e.asJSON)
}

func (a *app) editConfig(ctx context.Context, e configEdit) error {
	c, err := a.configuration(ctx)
	if err != nil {
		return err
	}
	file, err := c.ChangeValue(ctx, e.project, e.key, e.values)
	if err != nil {
		return &exit{code: codeOf(err), err: err, hint: "Nothing was changed."}
	}
	a.changed(e.asJSON, change{File: file, Key: e.key}, fmt.Sprintf("%s is changed.", file))
	if c, err = a.configuration(ctx); err != nil {
		return err
	}
	if now := c.Explain(e.key); len(now) == 1 && now[0].Source.File != file && e.values[0] != nil {
		a.note(fmt.Sprintf("%s is still %s, as %s says", e.key, now[0].Value, now[0].Source))
	}
	return nil
}
