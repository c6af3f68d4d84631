package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/config"
)

func (a *app) explainConfig(c *config.Config, key string, asJSON bool) error {
	origins := append([]config.Origin{}, c.Explain(key)...)
	if len(origins) == 0 && key != "" {
		if err := config.CheckKey(key); err != nil {
			return &exit{exitUsage, err, "cairn config schema lists them all"}
		}
	}
	if asJSON {
		err := a.printJSON(struct {
			Values   []config.Origin  `json:"values"`
			Warnings []config.Warning `json:"warnings"`
			Errors   []*config.Error  `json:"errors"`
		}{origins, append([]config.Warning{}, c.Warnings...), append([]*config.Error{}, c.Errors...)})
		return firstOf(err, broken(c))
	}
	if len(origins) == 0 {
		a.err.printf("Nobody sets %q.\n", line(key, 80))
	}
	for _, o := range origins {
		a.out.printf("%s = %s\n", a.out.paint(bold, line(o.Key, 100)), line(string(o.Value), 200))
		a.out.printf("    %s\n", a.out.paint(dim, line(o.Source.String(), 200)))
		for _, below := range o.Overrode {
			a.out.printf("    %s\n", a.out.paint(dim, "instead of "+line(string(below.Value), 100)+" from "+line(below.Source.String(), 200)))
		}
	}
	for _, w := range c.Warnings {
		a.err.printf("! %s\n", line(w.String(), 400))
	}
	for _, e := range c.Errors {
		a.err.printf("%s %s\n", a.err.paint(red, a.marks.bad), line(e.Error(), 400))
	}
	return broken(c)
}

// broken is the error of a configuration that cannot be used; why is told already.
func broken(c *config.Config) error {
	if len(c.Errors) == 0 {
		return nil
	}
	return &exit{code: exitUsage}
}

func (a *app) doctorCommand() *cobra.Command {
	cmd := a.findings("doctor", "Look for what may be wrong, and say what to do about it",
		"Doctor looks at the directories, the configuration, the keys, the store and a running server. It changes nothing.",
		func(ctx context.Context, o Options, _ []string) ([]Finding, error) { return a.host.Doctor(ctx, o) })
	cmd.AddCommand(a.doctorProvider())
	return cmd
}

func (a *app) doctorProvider() *cobra.Command {
	cmd := a.findings("provider", "Look whether a provider can be used",
		"Provider looks for the provider's key and address, asks its server for an answer and the time, and its cheapest\nmodel for a word, which may cost a fraction of a cent. Without a name it is the provider of the model in use.",
		func(ctx context.Context, o Options, args []string) ([]Finding, error) {
			return a.host.Probe(ctx, o, first(args, ""))
		})
	cmd.Use, cmd.Args = "provider [NAME]", cobra.MaximumNArgs(1)
	cmd.Example = "  cairn doctor provider\n  cairn doctor provider openai --json"
	return cmd
}

func (a *app) fsckCommand() *cobra.Command {
	return a.findings("fsck", "Check the store against its invariants",
		"Fsck reads the whole store and checks that it is consistent. It changes nothing.",
		func(ctx context.Context, o Options, _ []string) ([]Finding, error) { return a.host.Fsck(ctx, o) })
}

// findings makes a command that prints what it finds and fails when that holds an error.
func (a *app) findings(name, short, long string, look func(context.Context, Options, []string) ([]Finding, error)) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: name, Short: short, Long: long, Args: cobra.NoArgs, Example: "  cairn " + name + "\n  cairn " + name + " --json",
		RunE: a.does(func(ctx context.Context, args []string) error {
			o, err := a.options("")
			if err != nil {
				return err
			}
			found, err := look(ctx, o, args)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.printJSON(append([]Finding{}, found...))
			} else {
				a.showFindings(found)
			}
			for _, f := range found {
				if f.Level == LevelError {
					return firstOf(err, &exit{code: exitError})
				}
			}
			return err
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (a *app) showFindings(found []Finding) {
	for _, f := range found {
		style, mark := "", a.marks.dot
		switch f.Level {
		case LevelOK:
			style, mark = green, a.marks.good
		case LevelWarning:
			style, mark = yellow, "!"
		case LevelError:
			style, mark = red, a.marks.bad
		case LevelNote:
		}
		a.out.printf("%s %s", a.out.paint(style, mark), line(f.What, 100))
		if f.Detail != "" {
			a.out.printf(": %s", line(f.Detail, 800))
		}
		a.out.printf("\n")
		if f.Fix != "" {
			a.out.printf("    %s\n", line(f.Fix, 400))
		}
	}
}

func (a *app) backupCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "backup FILE", Short: "Write a verified copy of the store", Args: cobra.ExactArgs(1),
		Example: "  cairn backup ~/cairn-backup.db",
		RunE: a.does(func(ctx context.Context, args []string) error {
			o, err := a.options("")
			if err != nil {
				return err
			}
			file, err := a.absolute(args[0])
			if err != nil {
				return err
			}
			if err := a.host.Backup(ctx, o, file); err != nil {
				return err
			}
			a.changed(asJSON, change{File: file}, fmt.Sprintf("The store is copied to %s.", file))
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}
