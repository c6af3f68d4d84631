package access

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// trustCommands are `cairn trust …`.
type trustCommands struct{ inv *cli.Invocation }

const trustHelp = `Settings in a project's files that run programs, choose where to connect, or allow something have no effect
until you trust exactly that content: plugins, MCP servers, hooks, formatters, language servers, commands that
run programs, providers, the shell, looser permissions, and programs of skills. Changed content needs trust
again. While a plugin, tool or hook of the project does not run, which may guard what its rules allow, those
rules allow nothing. --without-plugins trusts the content without its plugins, tools and hooks: none of them
runs, and the rules allow.

Show that content and, after your confirmation, trust it in this checkout. To trust it for one process only, use
--trust=HASH of run and serve; --trust=none trusts nothing.`

// trustCommand returns the command that trusts a project's configuration, shows what needs trust, or revokes it.
func (g trustCommands) trustCommand() *cobra.Command {
	var show, revoke, yes, without bool
	cmd := &cobra.Command{
		Use: "trust [DIRECTORY]", Short: "Trust a project's configuration", Long: trustHelp, Args: cobra.MaximumNArgs(1),
		Example: "  cairn trust --show\n  cairn trust\n  cairn trust --revoke\n  cairn trust list",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			o, err := g.inv.DirectoryOptions("DIRECTORY", cli.FirstArg(args, ""))
			if err != nil {
				return err
			}
			cfg, store, err := g.loadClaim(ctx, o)
			// One of three acts; without a flag it is to trust.
			switch {
			case err != nil:
				return err
			case show:
				return g.showClaim(cfg)
			case revoke:
				return g.revokeTrust(ctx, store, cfg.Claim)
			default:
				return g.trustClaim(ctx, trustRequest{cfg, store, yes, without})
			}
		}),
	}
	cmd.Flags().BoolVar(&show, "show", false, "show the content that needs trust, without trusting it")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "revoke all trust in this checkout")
	cmd.Flags().BoolVar(&yes, "yes", false, "trust without asking for confirmation")
	cmd.Flags().BoolVar(&without, "without-plugins", false,
		"let the project's allow rules have effect without its plugins, tools and hooks")
	cmd.MarkFlagsMutuallyExclusive("show", "revoke", "yes")
	cmd.MarkFlagsMutuallyExclusive("show", "revoke", "without-plugins")
	cmd.AddCommand(g.trustListCommand())
	return g.inv.AddJSONFlag(cmd)
}

// trustListCommand returns the command that lists the trusted content of all checkouts.
func (g trustCommands) trustListCommand() *cobra.Command {
	return g.inv.AddJSONFlag(&cobra.Command{
		Use: "list", Short: "List the trusted content", Args: cobra.NoArgs, Example: "  cairn trust list",
		RunE: g.inv.HostAction(func(_ context.Context, o client.Options, _ []string) error {
			store, err := g.inv.Host.Trust(o)
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			// The beginning of a hash is enough to compare it.
			return cli.List[trust.Entry]{
				Head: []string{"CHECKOUT", "HASH", "SINCE"},
				Row: func(e trust.Entry) []string {
					since := time.UnixMilli(e.Since).Format("2006-01-02 15:04")
					return []string{terminal.FirstLine(e.Root, 100), e.Hash[:min(12, len(e.Hash))], since}
				},
			}.Print(g.inv, list)
		}),
	})
}

// loadClaim reads what the project's files want. An error in a file stops only what needs it, but it is noted: its
// content, as it is, can be trusted, too.
func (g trustCommands) loadClaim(ctx context.Context, o client.Options) (*config.Config, *trust.Store, error) {
	store, err := g.inv.Host.Trust(o)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := g.inv.Host.Config(ctx, o)
	if err == nil && len(cfg.Errors) > 0 {
		g.inv.Note(terminal.FirstLine(cfg.Errors[0].Error(), 400))
	}
	return cfg, store, err
}

// claimState is a claim in the output of --json.
type claimState struct {
	Root    string       `json:"root"`
	Hash    string       `json:"hash,omitzero"`
	Trusted bool         `json:"trusted"`
	Problem string       `json:"problem,omitzero"`
	Files   []trust.File `json:"files"`
	Unrun   []string     `json:"unrun,omitzero"` // files that are not run, beside which the project allows nothing
}

// showClaim prints the content of the project that needs trust, with the reasons, and whether it is trusted.
func (g trustCommands) showClaim(cfg *config.Config) error {
	// For programs: all facts and the hash.
	c := cfg.Claim
	if g.inv.JSON {
		out := claimState{
			Root:    c.Root,
			Trusted: cfg.Trusted,
			Problem: c.Problem,
			Files:   append([]trust.File{}, c.Files...),
			Unrun:   cfg.Unrun,
		}
		if !c.IsEmpty() {
			out.Hash = c.Hash()
		}
		return g.inv.PrintJSON(out)
	}
	// For people: each file with its reasons and its content.
	for _, f := range c.Files {
		g.inv.Out.Printf(
			"%s\n    %s\n",
			g.inv.Out.PaintText(terminal.Bold, terminal.FirstLine(f.Path, 200)),
			g.inv.Out.PaintText(terminal.Dim, terminal.FirstLine(strings.Join(f.Why, ", "), 400)),
		)
		if err := g.showFile(c, f.Path); err != nil {
			return err
		}
	}
	// Then the verdict.
	switch {
	case c.Problem != "":
		g.inv.Out.Printf("This content cannot be trusted: %s.\n", terminal.FirstLine(c.Problem, 400))
	case c.IsEmpty():
		g.inv.Out.Printf("Nothing in %s needs trust.\n", terminal.FirstLine(c.Root, 200))
	case cfg.Trusted:
		g.inv.Out.Printf("This content is trusted, with the hash %s\n", c.Hash())
	default:
		g.inv.Out.Printf("This content is not trusted. Its hash is %s\n", c.Hash())
	}
	// Plugins, tools and hooks, which cairn does not run, keep the project's allow rules without effect: say how to
	// change that.
	if len(cfg.Unrun) > 0 {
		g.inv.Out.Printf("%s\nTo let them allow without these files: cairn trust --without-plugins, or --trust=%s\n",
			cli.UnrunNote(cfg.Unrun), c.HashWithoutPlugins())
	}
	return nil
}

// maxTrustLines bounds what is shown of a file.
const maxTrustLines = 400

// showFile prints the content that is hashed, with control characters replaced.
func (g trustCommands) showFile(c *trust.Claim, name string) error {
	content, err := c.Read(name)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimRight(terminal.ReplaceControls(string(content)), "\n"), "\n")
	for _, l := range lines[:min(len(lines), maxTrustLines)] {
		g.inv.Out.Printf("    | %s\n", l)
	}
	if more := len(lines) - maxTrustLines; more > 0 {
		g.inv.Out.Printf("    … and %d lines more: read the file before you trust it\n", more)
	}
	return nil
}

type trustRequest struct {
	cfg     *config.Config
	store   *trust.Store
	yes     bool
	without bool // without the plugins, tools and hooks
}

// trustClaim remembers the claim that was shown: what changes while the person thinks is another one.
func (g trustCommands) trustClaim(ctx context.Context, r trustRequest) error {
	// Show the content first; programs get it with --show --json.
	c := r.cfg.Claim
	if !g.inv.JSON {
		if err := g.showClaim(r.cfg); err != nil {
			return err
		}
	}
	// The content cannot be trusted, or needs no further trust.
	switch {
	case c.Problem != "":
		return errors.New("nothing was trusted")
	case c.IsEmpty() || r.cfg.Trusted && !(r.without && len(c.ListUnrun(false)) > 0):
		g.inv.ReportChange(cli.Change{Root: c.Root}, "")
		return nil
	}
	// Ask, unless --yes answers.
	if !r.yes {
		if err := g.inv.Confirm(ctx, cli.Confirmation{
			What: "trust this content of " + c.Root,
			Hint: "Look at it with cairn trust --show, then repeat with --yes.",
		}); err != nil {
			return err
		}
	}
	// Trust all of it, or all but its programs. The hash is that of the content that was shown.
	store, hash, text := r.store.Trust, c.Hash(), "Trusted until it changes."
	if r.without && len(c.ListUnrun(false)) > 0 {
		store, hash = r.store.TrustWithoutPlugins, c.HashWithoutPlugins()
		text = "Trusted until it changes, without its plugins, tools and hooks."
	}
	return g.inv.FinishChange(store(ctx, c), cli.Change{Root: c.Root, Hash: hash}, text)
}

func (g trustCommands) revokeTrust(ctx context.Context, store *trust.Store, c *trust.Claim) error {
	n, err := store.Revoke(ctx, c.Root)
	text := "Revoked all trust there."
	if n == 0 {
		text = "Nothing was trusted there."
	}
	return g.inv.FinishChange(err, cli.Change{Root: c.Root}, text)
}
