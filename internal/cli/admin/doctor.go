package admin

import (
	"cmp"
	"context"
	"fmt"

	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/client/describe"
	"github.com/cairn-dev/cairn/internal/finding"
	"github.com/spf13/cobra"
)

// storeCommands check, copy and repair what cairn stores: doctor, fsck, backup and salvage.
type storeCommands struct{ inv *cli.Invocation }

func (g storeCommands) doctorCommand() *cobra.Command {
	cmd := g.findingsCommand(
		"doctor",
		"Check for problems and show how to fix them",
		"Check the directories, the configuration, the keys, the store and a running server. Nothing is changed.",
		func(ctx context.Context, o client.Options, _ []string) ([]finding.Finding, error) {
			return g.inv.Host.Doctor(ctx, o)
		},
	)
	cmd.AddCommand(g.doctorProvider())
	return cmd
}

func (g storeCommands) doctorProvider() *cobra.Command {
	cmd := g.findingsCommand(
		"provider",
		"Check whether a provider can be used",
		"Check the provider's key and address, the connection to its server, the clock, and an answer of its\n"+
			"cheapest model, which may cost a fraction of a cent. Without NAME, check the provider of the default\n"+
			"model.",
		func(ctx context.Context, o client.Options, args []string) ([]finding.Finding, error) {
			return g.inv.Host.Probe(ctx, o, cli.FirstArg(args, ""))
		},
	)
	cmd.Use, cmd.Args = "provider [NAME]", cobra.MaximumNArgs(1)
	cmd.Example = "  cairn doctor provider\n  cairn doctor provider openai --json"
	return cmd
}

func (g storeCommands) fsckCommand() *cobra.Command {
	var repair, mirror bool
	cmd := g.findingsCommand("fsck", "Check the store against its invariants",
		"Read the whole store and check that it is consistent. Without --repair and --mirror nothing is changed.",
		func(ctx context.Context, o client.Options, _ []string) (repaired []finding.Finding, err error) {
			if repair {
				if repaired, err = g.inv.Host.Repair(ctx, o); err != nil {
					return repaired, err
				}
			}
			if mirror {
				found, err := g.inv.Host.RepairMirror(ctx, o)
				if repaired = append(repaired, found...); err != nil {
					return repaired, err
				}
			}
			found, err := g.inv.Host.Fsck(ctx, o)
			return append(repaired, found...), err
		})
	cmd.Flags().BoolVar(&mirror, "mirror", false,
		"first compare the files of storage.mirror with the store, and write again what differs")
	cmd.Flags().BoolVar(&repair, "repair", false,
		"first delete subagents of deleted sessions, and end turns that an undo removed while they were open")
	return cmd
}

// findingsCommand makes a command that prints what it finds and fails when that holds an error.
func (g storeCommands) findingsCommand(
	name, short, long string,
	look func(context.Context, client.Options, []string) ([]finding.Finding, error),
) *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: name, Short: short, Long: long, Args: cobra.NoArgs, Example: "  cairn " + name + "\n  cairn " + name + " --json",
		RunE: g.inv.HostAction(func(ctx context.Context, o client.Options, args []string) error {
			// Look, print, then fail if a finding is an error. The output is complete before the command exits with its code.
			found, err := look(ctx, o, args)
			if err != nil {
				return err
			}
			err = cli.PrintResult(g.inv, found, g.showFindings)
			for _, f := range found {
				if f.Level == finding.Error {
					return cmp.Or[error](err, &cli.ExitError{Code: cli.ExitFailure})
				}
			}
			return err
		}),
	})
}

func (g storeCommands) showFindings(found []finding.Finding) {
	for _, f := range found {
		mark, style := describe.FindingMark(f.Level, g.inv.Marks)
		for _, line := range describe.FormatFinding(f, g.inv.Out.PaintText(style, mark)) {
			g.inv.Out.Printf("%s\n", line)
		}
	}
}

func (g storeCommands) backupCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "backup FILE", Short: "Write a verified copy of the store", Args: cobra.ExactArgs(1),
		Example: "  cairn backup ~/cairn-backup.db",
		RunE: g.inv.HostAction(func(ctx context.Context, o client.Options, args []string) error {
			file, err := g.inv.ResolvePath(args[0])
			if err != nil {
				return err
			}
			err = g.inv.Host.Backup(ctx, o, file)
			return g.inv.FinishChange(err, cli.Change{File: file}, fmt.Sprintf("Copied the store to %s.", file))
		}),
	})
}
