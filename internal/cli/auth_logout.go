package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairn-dev/cairn/internal/auth"
)

func (a *app) authLogout() *cobra.Command {
	var asJSON, force bool
	cmd := &cobra.Command{
		Use: "logout PROVIDER", Short: "Remove the kept key of a provider", Args: cobra.ExactArgs(1),
		Long: "Logout removes a key from where it is kept. If that is a keyring that cannot be reached now, the key is not used any\n" +
			"more, but stays there: logout says so and exits with 1. The next change of keys that reaches the keyring, auth list, or\n" +
			"the same logout again removes it; --force leaves it there for good and names it.",
		Example: "  cairn auth logout openai",
		RunE: a.does(func(ctx context.Context, args []string) error {
			store, err := a.keys()
			if err != nil {
				return err
			}
			if isAddress(args[0]) {
				args[0] = strings.TrimRight(args[0], "/")
			}
			before, err := store.Left(args[0])
			if err != nil {
				return err
			}
			had, err := store.Remove(ctx, args[0])
			if err != nil {
				return err
			}
			if !had && len(before.Names) == 0 {
				return noKey(store, args[0])
			}
			if had && isAddress(args[0]) {
				err = a.logout(ctx, args[0])
			}
			if err := errors.Join(err, a.leave(ctx, store, args[0], force)); err != nil {
				return err
			}
			a.changed(asJSON, change{Provider: args[0]}, fmt.Sprintf("The key of %s is removed.", line(args[0], 40)))
			return nil
		}),
	}
	cmd.Flags().BoolVar(&force, "force", false, "leave what is in a keyring that cannot be reached where it is")
	jsonFlag(cmd, &asJSON)
	return cmd
}

// leave sees to it that the keyring forgets what was removed. What it cannot forget now is an error, or with force is named
// and given up.
func (a *app) leave(ctx context.Context, store *auth.Store, id string, force bool) error {
	var left auth.Left
	err := a.whileKeyring(func() (err error) {
		left, err = store.Sweep(ctx, id, true)
		return err
	})
	if err != nil || len(left.Names) == 0 {
		return err
	}
	if force {
		names, err := store.Forget(ctx, id)
		a.note(fmt.Sprintf("the keyring still has %s, which cairn forgets", line(strings.Join(names, ", "), 400)))
		return err
	}
	return &exit{
		exitError, fmt.Errorf("the key of %s is not used any more, but it is still in the keyring: %w", line(id, 100), left.Why),
		"cairn removes it as soon as it reaches the keyring: say this again then. To leave it there: cairn auth logout --force " + line(id, 100),
	}
}

// keyringSlow is how long a keyring takes that asks nobody.
const keyringSlow = 3 * time.Second

// whileKeyring does something for which the keyring may have to be opened by somebody who sits elsewhere, or has not seen
// that he is asked, and for which another process may be in the way: what is waited for is said.
func (a *app) whileKeyring(f func() error) error {
	said := make(chan struct{})
	slow := time.AfterFunc(keyringSlow, func() {
		defer close(said)
		a.note("waiting for the keyring, which somebody may have to open, or for another cairn; Ctrl-C gives up")
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
		names = append(names, line(s.Provider, 60))
	}
	if len(names) == 0 {
		return usagef("no key of %q is kept; none is", line(id, 40))
	}
	return usagef("no key of %q is kept; kept are: %s", line(id, 40), strings.Join(names, ", "))
}

// unkept sorts why something was not kept: what was given may be wrong.
func unkept(err error) error {
	if _, ok := errors.AsType[*auth.Unfit](err); ok {
		return &exit{code: exitUsage, err: err}
	}
	return err
}

// notePassed says what a login did not do that it might have: keep the key in the keyring, or remove the old one there.
func (a *app) notePassed(store *auth.Store, id string) {
	if why := store.Passed(); why != nil {
		a.note(fmt.Sprintf("the keyring was passed over: %v", why))
	}
	a.noteLeft(store, id)
}

// noteLeft says what the keyring still has of what was removed.
func (a *app) noteLeft(store *auth.Store, id string) {
	left, err := store.Left(id)
	switch {
	case err != nil:
		a.note(err.Error())
	case len(left.Names) > 0:
		a.note(leftNote(left))
	}
}

func leftNote(left auth.Left) string {
	text := "the keyring still has what was removed or replaced: " + strings.Join(left.Names, ", ")
	if left.Why != nil {
		text += fmt.Sprintf(" (%v)", left.Why)
	}
	return text + "; cairn removes it when it reaches the keyring next"
}

// keyProblems says why stored keys cannot be used now, and what else there is to say of them. What is left in the keyring is
// removed if that can be done.
func keyProblems(ctx context.Context, store *auth.Store) (problems map[string]string, notes []string, err error) {
	troubles, err := store.Troubles(ctx)
	if err != nil {
		return nil, nil, err
	}
	problems = map[string]string{}
	for _, t := range troubles {
		problems[t.Provider] = t.Err.Error()
		notes = append(notes, t.Err.Error())
	}
	left, err := store.Left("")
	if err == nil && left.Due {
		left, err = store.Sweep(ctx, "", false)
	}
	if err != nil {
		return problems, append(notes, err.Error()), nil
	}
	if len(left.Names) > 0 {
		notes = append(notes, leftNote(left))
	}
	return problems, notes, nil
}
