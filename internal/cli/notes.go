package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/access/audit"
	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/access/trust"
	"github.com/cairn-dev/cairn/internal/client"
	"github.com/cairn-dev/cairn/internal/location/agent"
	"github.com/cairn-dev/cairn/internal/location/config"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// OpenKeys opens the file of keys.
func (a *Invocation) OpenKeys() (*auth.Store, error) {
	dirs, err := config.FindDirectories(a.Env)
	if err != nil {
		return nil, err
	}
	return auth.New(dirs.Data, a.Env), nil
}

// RecordSettings records a change of the configuration or of keys in the audit log. It comes before the change: one
// that cannot be recorded is not made.
func (a *Invocation) RecordSettings(ctx context.Context, what string) error {
	dirs, err := config.FindDirectories(a.Env)
	if err != nil {
		return err
	}
	return audit.New(dirs.Data).AddEntry(ctx, audit.KindSettings, what)
}

// remotesNote says which organisations' configurations wait for trust; "" if all are trusted.
func remotesNote(remotes []config.RemoteState) string {
	for _, r := range remotes {
		if !r.Claim.IsEmpty() && !r.Trusted {
			return fmt.Sprintf(
				"parts of the configuration of %s have no effect until you trust it: cairn auth login %[1]s",
				terminal.FirstLine(r.Address, 100),
			)
		}
	}
	return ""
}

// LoadConfig reads what holds in the directory of the call.
func (a *Invocation) LoadConfig(ctx context.Context) (*config.Config, error) {
	o, err := a.HostOptions("")
	if err != nil {
		return nil, err
	}
	return a.Host.Config(ctx, o)
}

func AddTrustFlag(cmd *cobra.Command, word *string) {
	cmd.Flags().
		StringVar(word, "trust", "", "trust the project's files if they have this `HASH` (see cairn trust --show), or none")
}

// CheckConfig validates the value of --trust, and notes misspelt settings and settings without effect. The
// configuration is nil if it cannot be used.
func (a *Invocation) CheckConfig(ctx context.Context, o client.Options) (*config.Config, error) {
	// Validate the flag even if the configuration cannot be read.
	if o.Trust != "" && !trust.IsOverride(o.Trust) {
		return nil, UsageErrorf(
			"--trust must be none or a hash from cairn trust --show, got %q",
			terminal.FirstLine(o.Trust, 80),
		)
	}
	cfg, err := a.Host.Config(ctx, o)
	if err != nil {
		return nil, nil // the command that needs it reports the error
	}
	if len(cfg.Errors) > 0 {
		return nil, nil
	}
	// Note misspelt settings, and organisations whose configuration is not trusted.
	warnings := slices.Concat(cfg.Warnings, agent.New(cfg, agent.Options{}).Warnings())
	if text := warningsNote(warnings); text != "" {
		a.Note(text)
	}
	if text := remotesNote(cfg.Remotes); text != "" && o.Trust != trust.None {
		a.Note(text)
	}
	// Settings of a project that is not trusted have no effect. A hash that does not match is an error.
	switch {
	case cfg.Claim == nil || cfg.Claim.IsEmpty() || cfg.Trusted || o.Trust == trust.None:
	case o.Trust != "":
		return nil, NewExitError(
			ExitUsage,
			fmt.Errorf("the project's files have the hash %s, not the one of --trust", cfg.Claim.Hash()),
			"Look at them with cairn trust --show.",
		)
	default:
		a.Note(untrustedNote(len(cfg.Claim.Files)))
	}
	if len(cfg.Unrun) > 0 {
		a.Note(UnrunNote(cfg.Unrun))
	}
	return cfg, nil
}

// UnrunNote names the project's files that cairn does not run, so that its rules allow nothing.
func UnrunNote(names []string) string {
	const most = 5
	list := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return "not all of the project's plugins, tools and hooks run (" + terminal.FirstLine(list, 300) +
		"), so its permission rules allow nothing: see cairn trust --without-plugins"
}

// maxStartNote bounds a note at the start of the interface, in characters: one line, also of 60 columns.
const maxStartNote = 58

// WithoutEffectNote says in one line which settings have no effect, and which of the project's settings wait for trust,
// with the commands of the full-screen interface that show more; "" if there is nothing. It has names if they fit and
// no plugins are off, else counts.
func WithoutEffectNote(cfg *config.Config) string {
	unused := listUnused(cfg.Warnings)
	isUntrusted := cfg.Claim != nil && !cfg.Claim.IsEmpty() && !cfg.Trusted
	// Names.
	var parts []string
	if len(unused) > 0 {
		names := terminal.FirstLine(strings.Join(unused, ", "), 200)
		parts = append(parts, "without effect in cairn: "+names+" (/doctor)")
	}
	if isUntrusted {
		files := terminal.FormatPlural(len(cfg.Claim.Files), "file")
		parts = append(parts, "project settings in "+files+" wait for trust (/trust)")
	}
	if text := strings.Join(parts, "; "); len(cfg.Unrun) == 0 && len(text) <= maxStartNote {
		return text
	}
	// Counts.
	var counts []string
	if len(cfg.Unrun) > 0 {
		counts = append(counts, "plugins off")
	}
	if n := len(unused); n > 0 {
		counts = append(counts, terminal.FormatPlural(n, "key")+" ignored")
	}
	text := strings.Join(counts, ", ")
	if text != "" {
		text += ": /doctor"
	}
	if isUntrusted {
		text = strings.TrimPrefix(text+"; untrusted: /trust", "; ")
	}
	return text
}

// listUnused returns the top-level settings without effect, each once.
func listUnused(warnings []config.Warning) (names []string) {
	neverRun := []string{"mcp", "lsp", "formatter", "plugin"} // also if the project is trusted
	for _, w := range warnings {
		name, _, _ := strings.Cut(w.Key, ".")
		isUnused := w.Kind == config.WarnUnused || w.Kind == config.WarnUntrusted && slices.Contains(neverRun, name)
		if isUnused && name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// warningsNote reports, on one line, unreadable files, unknown settings and agents, options that are not sent, and
// rules that match nothing; "" if there are no such warnings.
func warningsNote(warnings []config.Warning) string {
	noted := []config.WarningKind{config.WarnUnknown, config.WarnUnread, config.WarnUnsent, config.WarnUnmatched}
	text, more := "", 0
	for _, w := range warnings {
		switch {
		case !slices.Contains(noted, w.Kind):
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

// untrustedNote says that settings of files have no effect. The count is 0 if a file cannot be read.
func untrustedNote(files int) string {
	if files == 1 {
		return "1 file of this project has settings without effect because it is not trusted; see cairn trust --show"
	}
	return fmt.Sprintf(
		"%d files of this project have settings without effect because they are not trusted; see cairn trust --show",
		files,
	)
}

// WithheldProviders says why the providers of the project's files have no effect; "" if the files describe no
// providers.
func WithheldProviders(cfg *config.Config) string {
	for _, w := range cfg.Warnings {
		if w.Key == "provider" && (w.Kind == config.WarnUntrusted || w.Kind == config.WarnIgnored) {
			return w.String()
		}
	}
	return ""
}
