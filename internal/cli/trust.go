package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/config"
	"github.com/cairn-dev/cairn/internal/trust"
)

const trustHelp = `A project's files are read, but what in them runs programs, says where to connect, or allows something
has no effect until you trust exactly that content: plugins, MCP servers, hooks, formatters, language
servers, commands that have something run, providers, the shell, looser permissions, programs that come
with skills. A change asks again.

Trust shows what that is and, after your yes, remembers it for this checkout. For one process alone,
run and serve take --trust=HASH, and --trust=none trusts nothing.`

func (a *app) trustCommand() *cobra.Command {
	var show, revoke, yes, asJSON bool
	cmd := &cobra.Command{
		Use: "trust [DIRECTORY]", Short: "Let a project's files do more than speak", Long: trustHelp, Args: cobra.MaximumNArgs(1),
		Example: "  cairn trust --show\n  cairn trust\n  cairn trust --revoke\n  cairn trust list",
		RunE: a.does(func(ctx context.Context, args []string) error {
			o, err := a.options(first(args, ""))
			if err != nil {
				return err
			}
			cfg, store, err := a.claim(ctx, o)
			switch {
			case err != nil:
				return err
			case show:
				return a.showClaim(cfg, asJSON)
			case revoke:
				return a.revokeTrust(ctx, store, cfg.Claim, asJSON)
			default:
				return a.trust(ctx, trustRequest{cfg, store, yes, asJSON})
			}
		}),
	}
	cmd.Flags().BoolVar(&show, "show", false, "show what would be trusted, and change nothing")
	cmd.Flags().BoolVar(&revoke, "revoke", false, "trust nothing any more in this checkout")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	cmd.MarkFlagsMutuallyExclusive("show", "revoke", "yes")
	jsonFlag(cmd, &asJSON)
	cmd.AddCommand(a.trustListCommand())
	return cmd
}

func (a *app) trustListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "List what is trusted", Args: cobra.NoArgs, Example: "  cairn trust list",
		RunE: a.does(func(context.Context, []string) error {
			o, err := a.options("")
			if err != nil {
				return err
			}
			store, err := a.host.Trust(o)
			if err != nil {
				return err
			}
			list, err := store.List()
			if err != nil {
				return err
			}
			if asJSON {
				return a.printJSON(list)
			}
			t := a.table("CHECKOUT", "HASH", "SINCE")
			for _, e := range list {
				t.row(line(e.Root, 100), e.Hash[:min(12, len(e.Hash))], time.UnixMilli(e.Since).Format("2006-01-02 15:04"))
			}
			t.print()
			return nil
		}),
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// claim reads what the project's files want. Files that cannot be read are not trusted.
func (a *app) claim(ctx context.Context, o Options) (*config.Config, *trust.Store, error) {
	store, err := a.host.Trust(o)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := a.host.Config(ctx, o)
	if err == nil && len(cfg.Errors) > 0 {
		err = cfg.Errors[0]
	}
	return cfg, store, err
}

// claimed is what --json shows of a claim.
type claimed struct {
	Root    string       `json:"root"`
	Hash    string       `json:"hash,omitzero"`
	Trusted bool         `json:"trusted"`
	Problem string       `json:"problem,omitzero"`
	Files   []trust.File `json:"files"`
}

func (a *app) showClaim(cfg *config.Config, asJSON bool) error {
	c := cfg.Claim
	if asJSON {
		out := claimed{Root: c.Root, Trusted: cfg.Trusted, Problem: c.Problem, Files: append([]trust.File{}, c.Files...)}
		if !c.Empty() {
			out.Hash = c.Hash()
		}
		return a.printJSON(out)
	}
	for _, f := range c.Files {
		a.out.printf("%s\n    %s\n", a.out.paint(bold, line(f.Path, 200)), a.out.paint(dim, line(strings.Join(f.Why, ", "), 400)))
	}
	switch {
	case c.Problem != "":
		a.out.printf("This cannot be trusted: %s.\n", line(c.Problem, 400))
	case c.Empty():
		a.out.printf("Nothing in %s needs trust.\n", line(c.Root, 200))
	case cfg.Trusted:
		a.out.printf("It is trusted, as %s\n", c.Hash())
	default:
		a.out.printf("It is not trusted. Its hash is %s\n", c.Hash())
	}
	return nil
}

type trustRequest struct {
	cfg         *config.Config
	store       *trust.Store
	yes, asJSON bool
}

// trust remembers the claim that was shown: what changes while the person thinks is another one.
func (a *app) trust(ctx context.Context, r trustRequest) error {
	c := r.cfg.Claim
	if !r.asJSON {
		if err := a.showClaim(r.cfg, false); err != nil {
			return err
		}
	}
	switch {
	case c.Problem != "":
		return errors.New("nothing was trusted")
	case c.Empty() || r.cfg.Trusted:
		a.changed(r.asJSON, change{Root: c.Root}, "")
		return nil
	}
	if !r.yes {
		what := fmt.Sprintf("trust this content of %s", c.Root)
		if err := a.confirm(ctx, r.asJSON, question{what, "Look with cairn trust --show, then say --yes."}); err != nil {
			return err
		}
	}
	if err := r.store.Trust(ctx, c); err != nil {
		return err
	}
	a.changed(r.asJSON, change{Root: c.Root, Hash: c.Hash()}, "It is trusted until it changes.")
	return nil
}

func (a *app) revokeTrust(ctx context.Context, store *trust.Store, c *trust.Claim, asJSON bool) error {
	n, err := store.Revoke(ctx, c.Root)
	if err != nil {
		return err
	}
	text := "Nothing is trusted there any more."
	if n == 0 {
		text = "Nothing was trusted there."
	}
	a.changed(asJSON, change{Root: c.Root}, text)
	return nil
}

func trustFlag(cmd *cobra.Command, word *string) {
	cmd.Flags().StringVar(word, "trust", "", "trust the project's files when they have this `HASH`, see cairn trust --show; or none")
}

// heedConfig checks the word of --trust, and says what in the configuration is misspelt, or has no effect without trust. The
// configuration is nil when it cannot be used.
func (a *app) heedConfig(ctx context.Context, o Options) (*config.Config, error) {
	if o.Trust != "" && !trust.IsWord(o.Trust) {
		return nil, usagef("--trust must be none or a hash that cairn trust --show prints, got %q", line(o.Trust, 80))
	}
	cfg, err := a.host.Config(ctx, o)
	if err != nil || len(cfg.Errors) > 0 {
		return nil, nil // what is wrong is told by who cannot go on with it
	}
	if text := unheededNote(cfg.Warnings); text != "" {
		a.note(text)
	}
	if text := remotesNote(cfg.Remotes); text != "" && o.Trust != trust.None {
		a.note(text)
	}
	switch {
	case cfg.Claim == nil || cfg.Claim.Empty():
	case cfg.Trusted || o.Trust == trust.None:
	case o.Trust != "":
		return nil, &exit{exitUsage, fmt.Errorf("the files of the project have the hash %s, and not the one of --trust", cfg.Claim.Hash()), "Look at them with cairn trust --show."}
	default:
		a.note(untrustedNote(len(cfg.Claim.Files)))
	}
	return cfg, nil
}

// unheededNote says on one line that files cannot be read, or have keys that nobody knows or options that are not sent; ""
// when all is heeded.
func unheededNote(warnings []config.Warning) string {
	text, more := "", 0
	for _, w := range warnings {
		switch {
		case w.Kind != config.WarnUnknown && w.Kind != config.WarnUnread && w.Kind != config.WarnUnsent:
		case text == "":
			text = w.String()
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" (and %d more: cairn doctor)", more)
	}
	return text
}

// untrustedNote says that files want more than they get. There may be none when one of them cannot even be read.
func untrustedNote(files int) string {
	if files == 1 {
		return "1 file of this project would run, connect or allow something, and does not: it is not trusted; see cairn trust --show"
	}
	return fmt.Sprintf("%d files of this project would run, connect or allow something, and do not: they are not trusted; see cairn trust --show", files)
}

// withheldProviders says why providers that the project's files describe have no effect; "" when there are none.
func withheldProviders(cfg *config.Config) string {
	for _, w := range cfg.Warnings {
		if w.Key == "provider" && (w.Kind == config.WarnUntrusted || w.Kind == config.WarnIgnored) {
			return w.String()
		}
	}
	return ""
}
