package access

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// auditCommands are `cairn audit …`.
type auditCommands struct{ inv *cli.Invocation }

const auditHelp = `The audit log has who answered asks, changed rules, trust, tokens or settings, who logged in or out,
and how many callers were refused. It has no secrets and no more of a command than its ask showed. Each entry
has a keyed hash of itself and the entry before it, so that changed and missing entries are found.`

func (g auditCommands) auditCommand() *cobra.Command {
	return cli.GroupCommand(&cobra.Command{
		Use: "audit", Short: "Show and verify the log of who allowed what", Long: auditHelp,
		Example: "  cairn audit show --last 20\n  cairn audit verify",
	}, g.showCommand(), g.verifyCommand())
}

// auditReport is the output of show --json.
type auditReport struct {
	Entries []audit.Entry `json:"entries"`
	Problem string        `json:"problem,omitzero"`
}

// showCommand returns the command that shows the newest entries. A damaged log is shown as far as it can be read.
func (g auditCommands) showCommand() *cobra.Command {
	var last int
	cmd := &cobra.Command{
		Use: "show", Short: "Show the entries, oldest first", Args: cobra.NoArgs,
		Example: "  cairn audit show --last 20",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			if last < 1 {
				return cli.UsageErrorf("--last must be at least 1, got %d", last)
			}
			r, _, err := g.readAudit(ctx)
			if err != nil {
				return err
			}
			// The newest entries, in their order.
			r.Entries = r.Entries[max(0, len(r.Entries)-last):]
			if g.inv.JSON {
				return g.inv.PrintJSON(auditReport{append([]audit.Entry{}, r.Entries...), r.Problem})
			}
			// A table for people; the damage is reported after it.
			t := g.inv.NewTable("SEQ", "TIME", "KIND", "WHO", "WHAT")
			for _, e := range r.Entries {
				t.AddRow(
					strconv.FormatInt(e.Seq, 10),
					time.UnixMilli(e.Time).Format(time.DateTime),
					terminal.FirstLine(string(e.Kind), 20),
					terminal.FirstLine(e.Who, 60),
					terminal.FirstLine(e.What, 400),
				)
			}
			t.Print()
			if r.Problem != "" {
				g.inv.Err.Printf("The log is damaged: %s\n", terminal.FirstLine(r.Problem, 400))
			}
			return nil
		}),
	}
	cmd.Flags().IntVar(&last, "last", 100, "show the `N` newest entries")
	return g.inv.AddJSONFlag(cmd)
}

// auditVerdict is the output of verify --json.
type auditVerdict struct {
	OK      bool   `json:"ok"`
	Entries int    `json:"entries"`
	Problem string `json:"problem,omitzero"`
}

// verifyCommand returns the command that checks the log. It exits with 1 if the log is damaged, in JSON, too.
func (g auditCommands) verifyCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "verify", Short: "Check that no entry was changed or is missing", Args: cobra.NoArgs,
		Long: "Check the chain of keyed hashes. It protects against accidents, and against programs that can write\n" +
			"the log and not read its key: sandboxed commands can do neither. A program that runs as you without a\n" +
			"sandbox can read the key. The exit code is 1 if an entry was changed or is missing.",
		Example: "  cairn audit verify --json",
		RunE: g.inv.Action(func(ctx context.Context, _ []string) error {
			r, dir, err := g.readAudit(ctx)
			if err != nil {
				return err
			}
			// The JSON is complete before the exit code says that the log is damaged.
			if g.inv.JSON {
				err := g.inv.PrintJSON(auditVerdict{r.Problem == "", len(r.Entries), r.Problem})
				if err == nil && r.Problem != "" {
					err = &cli.ExitError{Code: cli.ExitFailure}
				}
				return err
			}
			if r.Problem != "" {
				return session.Errorf(session.CodeInternal, "the audit log in %s is damaged: %s", dir, r.Problem)
			}
			g.inv.Out.Printf("%d entries, none changed or missing\n", len(r.Entries))
			return nil
		}),
	})
}

func (g auditCommands) readAudit(ctx context.Context) (audit.Report, string, error) {
	dirs, err := config.FindDirectories(g.inv.Env)
	if err != nil {
		return audit.Report{}, "", session.Errorf(session.CodeInvalid, "%v", err)
	}
	log := audit.New(dirs.Data)
	r, err := log.Read(ctx)
	return r, log.Directory(), err
}
