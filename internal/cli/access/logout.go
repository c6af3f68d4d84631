package access

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/terminal"
	"github.com/spf13/cobra"
)

// authLogout returns the command that removes a key. The entry in the file goes first, so that cairn stops using the
// key even if the keyring cannot be reached.
func (g authCommands) authLogout() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use: "logout PROVIDER", Short: "Remove the stored key of a provider", Args: cobra.ExactArgs(1),
		Long: "Remove a stored key. If the key is in a keyring that cannot be reached, cairn stops using it and exits\n" +
			"with 1. The next cairn command that changes keys and reaches the keyring removes it, as do cairn auth list\n" +
			"and the same logout. With --force it stays in the keyring permanently.\n\n" +
			"Pages of shared sessions show a key again once it is removed here, unless it looks like a secret: revoke it at\n" +
			"the provider, or the share (cairn share list), if a shared session has it.",
		Example: "  cairn auth logout openai",
		RunE: g.inv.Action(func(ctx context.Context, args []string) error {
			store, err := g.inv.OpenKeys()
			if err != nil {
				return err
			}
			// Addresses of organisations are stored without a slash at the end.
			if cli.IsURL(args[0]) {
				args[0] = strings.TrimRight(args[0], "/")
			}
			// Names that an earlier logout could not remove from the keyring are removed as well.
			before, err := store.ListOrphans(args[0])
			if err != nil {
				return err
			}
			// The audit log is written before the change.
			if err := g.inv.RecordSettings(ctx, "remove the key of "+args[0]); err != nil {
				return err
			}
			had, err := store.Remove(ctx, args[0])
			if err != nil {
				return err
			}
			// Nothing was there: suggest what is.
			if !had && len(before.Names) == 0 {
				return noKey(store, args[0])
			}
			// A login at an organisation has its configuration, too. Then clean up the keyring.
			if had && cli.IsURL(args[0]) {
				err = g.logoutOrganisation(ctx, args[0])
			}
			err = errors.Join(err, g.sweepKeyring(ctx, store, args[0], force))
			text := fmt.Sprintf("Removed the key of %s.", terminal.FirstLine(args[0], 40))
			return g.inv.FinishChange(err, cli.Change{Provider: args[0]}, text)
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "leave the key in the keyring if the keyring cannot be reached")
	return g.inv.AddJSONFlag(cmd)
}

// sweepKeyring removes the logged-out key from the keyring. If that fails, it is an error, or with force the key is
// named and no longer tracked.
func (g authCommands) sweepKeyring(ctx context.Context, store *auth.Store, id string, force bool) error {
	var left auth.Orphans
	err := g.whileKeyring(func() (err error) {
		left, err = store.CleanUp(ctx, id, true)
		return err
	})
	if err != nil || len(left.Names) == 0 {
		return err
	}
	if force {
		names, err := store.ForgetOrphans(ctx, id)
		g.inv.Note(
			fmt.Sprintf("%s stays in the keyring; cairn no longer tracks it", terminal.FirstLine(strings.Join(names, ", "), 400)),
		)
		return err
	}
	return cli.NewExitError(
		cli.ExitFailure,
		fmt.Errorf("the key of %s is no longer used, but is still in the keyring: %w", terminal.FirstLine(id, 100), left.Why),
		"Repeat this command when the keyring can be reached, or leave the key there with: "+
			"cairn auth logout --force "+terminal.FirstLine(id, 100),
	)
}

// keyringSlow is how long a keyring may take before the wait is reported.
const keyringSlow = 3 * time.Second

// whileKeyring calls f, which uses the keyring. If the keyring is slow, because it must be unlocked or another process
// holds it, whileKeyring reports the wait.
func (g authCommands) whileKeyring(f func() error) error {
	said := make(chan struct{})
	slow := time.AfterFunc(keyringSlow, func() {
		defer close(said)
		g.inv.Note("waiting for the keyring, which you may have to unlock, or for another cairn; press Ctrl-C to cancel")
	})
	err := f()
	if !slow.Stop() {
		<-said
	}
	return err
}

// noKey says that there is nothing to remove, and what there is.
func noKey(store *auth.Store, id string) error {
	stored, err := store.List()
	if err != nil {
		return err
	}
	var names []string
	for _, s := range stored {
		names = append(names, terminal.FirstLine(s.Provider, 60))
	}
	if len(names) == 0 {
		return cli.UsageErrorf("no key is stored for %q (no keys are stored)", terminal.FirstLine(id, 40))
	}
	return cli.UsageErrorf(
		"no key is stored for %q; keys are stored for: %s",
		terminal.FirstLine(id, 40),
		strings.Join(names, ", "),
	)
}

// classifyStoreError sorts why something was not kept: what was given may be wrong.
func classifyStoreError(err error) error {
	if _, ok := errors.AsType[*auth.InvalidError](err); ok {
		return &cli.ExitError{Code: cli.ExitUsage, Err: err}
	}
	return err
}

// notePassed says what a login did not do that it might have: keep the key in the keyring, or remove the old one there.
func (g authCommands) notePassed(store *auth.Store, id string) {
	if why := store.KeyringError(); why != nil {
		g.inv.Note(fmt.Sprintf("the keyring was not used: %v", why))
	}
	g.noteLeft(store, id)
}

// noteLeft says what the keyring still has of what was removed.
func (g authCommands) noteLeft(store *auth.Store, id string) {
	left, err := store.ListOrphans(id)
	switch {
	case err != nil:
		g.inv.Note(err.Error())
	case len(left.Names) > 0:
		g.inv.Note(leftNote(left))
	}
}

func leftNote(left auth.Orphans) string {
	text := "the keyring still has removed or replaced keys: " + strings.Join(left.Names, ", ")
	if left.Why != nil {
		text += fmt.Sprintf(" (%v)", left.Why)
	}
	return text + "; cairn removes them the next time it reaches the keyring"
}

// keyProblems says why stored keys cannot be used now, and what else there is to say of them. What is left in the
// keyring is removed if that can be done.
func keyProblems(ctx context.Context, store *auth.Store) (problems map[string]string, notes []string, err error) {
	troubles, err := store.ListProblems(ctx)
	if err != nil {
		return nil, nil, err
	}
	problems = map[string]string{}
	for _, t := range troubles {
		problems[t.Provider] = t.Err.Error()
		notes = append(notes, t.Err.Error())
	}
	left, err := store.ListOrphans("")
	if err == nil && left.Due {
		left, err = store.CleanUp(ctx, "", false)
	}
	if err != nil {
		return problems, append(notes, err.Error()), nil
	}
	if len(left.Names) > 0 {
		notes = append(notes, leftNote(left))
	}
	return problems, notes, nil
}
