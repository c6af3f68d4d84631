package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/auth"
	"github.com/cairn-dev/cairn/internal/config"
)

// organisation is a login to the address of one, which offers a configuration to those who work for it.
type organisation struct {
	address     string
	args        []string // of auth login
	yes, asJSON bool
}

// isAddress reports whether what somebody logs in to is an address and no provider.
func isAddress(arg string) bool { return strings.Contains(arg, "://") }

// login keeps the token that the organisation asks for and its configuration, and asks whether to trust that.
func (a *app) login(ctx context.Context, org organisation) error {
	o, err := a.options("")
	if err != nil {
		return err
	}
	offers, err := a.host.Offers(o)
	if err != nil {
		return err
	}
	offer, err := offers.Fetch(ctx, org.address)
	if err != nil {
		return err
	}
	if offer.Elsewhere != "" {
		a.note(further(offer))
	}
	store, err := a.keys()
	if err != nil {
		return err
	}
	login := auth.Login{Address: offer.Address, Env: offer.Env, Token: keptToken(store, offer)}
	if login.Token.IsZero() || len(org.args) == 2 {
		if login.Token, err = a.organisationToken(ctx, org, offer); err != nil {
			return err
		}
	}
	if err := a.whileKeyring(func() error { return store.SetLogin(ctx, login) }); err != nil {
		return unkept(err)
	}
	a.notePassed(store, login.Address)
	if err := offers.Keep(offer); err != nil {
		return err
	}
	if !org.asJSON {
		a.err.printf("The login at %s is kept in %s, and its configuration is read below all others.\n", line(offer.Address, 100), store.Where(offer.Address))
	}
	org.address = offer.Address
	return a.trustOffer(ctx, offers, org)
}

// trustOffer has the organisation's configuration trusted: its document, then what that names, which may not be fetched
// before.
func (a *app) trustOffer(ctx context.Context, offers Offers, org organisation) error {
	document, err := a.trustOrganisation(ctx, org)
	if err != nil {
		return err
	}
	if err := offers.Further(ctx, org.address); err != nil {
		return fmt.Errorf("the login holds, but its further configuration was not fetched: %w", err)
	}
	named, err := a.trustOrganisation(ctx, org)
	if err != nil {
		return err
	}
	done, said := change{Root: org.address, Hash: cmp.Or(named, document)}, ""
	if done.Hash != "" {
		said = "It is trusted until it changes."
	}
	a.changed(org.asJSON, done, said)
	return nil
}

// further says what else is fetched, and what of the login goes there.
func further(o *Offer) string {
	text := fmt.Sprintf("%s names further configuration at %s", line(o.Address, 100), line(o.Elsewhere, 200))
	if len(o.Carriers) > 0 {
		text += fmt.Sprintf(", where the token goes as %s", line(strings.Join(o.Carriers, ", "), 100))
	}
	return text
}

// keptToken is the token of an earlier login. To give another one, pipe it in.
func keptToken(store *auth.Store, offer *Offer) auth.Secret {
	logins, err := store.Logins()
	if err != nil {
		return auth.Secret{} // storing the new one says what is wrong
	}
	for _, l := range logins {
		if l.Address == offer.Address && l.Env == offer.Env {
			return l.Token
		}
	}
	return auth.Secret{}
}

// organisationToken reads the token, if one is needed. The command that would print it is shown and never run.
func (a *app) organisationToken(ctx context.Context, org organisation, wants *Offer) (auth.Secret, error) {
	if wants.Env == "" {
		return auth.Secret{}, nil
	}
	if len(wants.Command) > 0 && len(org.args) == 1 {
		a.note(fmt.Sprintf("it wants a token as %s, which this command prints (cairn does not run it): %s", line(wants.Env, 60), line(strings.Join(wants.Command, " "), 200)))
	}
	token, err := a.readKey(ctx, org.args)
	if err == nil && token.IsZero() {
		err = usagef("the token is empty")
	}
	return token, err
}

// trustOrganisation shows what of the configuration does more than speak and, after a yes, trusts that content. It returns
// the hash of what is trusted last, "" when nothing was.
func (a *app) trustOrganisation(ctx context.Context, org organisation) (hash string, err error) {
	o, err := a.options("")
	if err != nil {
		return "", err
	}
	cfg, store, err := a.claim(ctx, o)
	if err != nil {
		return "", err
	}
	for _, r := range cfg.Remotes {
		if r.Address != org.address || r.Claim.Empty() || r.Trusted {
			continue
		}
		for _, f := range r.Claim.Files {
			a.err.printf("Without your trust these have no effect: %s (%s)\n", line(strings.Join(f.Why, ", "), 400), line(f.Path, 200))
		}
		if !org.yes {
			q := question{"trust this content of " + org.address, "Look with cairn config explain, then say it again with --yes."}
			if err := a.confirm(ctx, org.asJSON, q); err != nil {
				return "", err
			}
		}
		if err := store.Trust(ctx, r.Claim); err != nil {
			return "", err
		}
		hash = r.Claim.Hash()
	}
	return hash, nil
}

// logout forgets an organisation's configuration, and the trust in it.
func (a *app) logout(ctx context.Context, address string) error {
	o, err := a.options("")
	if err != nil {
		return err
	}
	offers, err := a.host.Offers(o)
	if err != nil {
		return err
	}
	store, err := a.host.Trust(o)
	if err != nil {
		return err
	}
	_, err = store.Revoke(ctx, address)
	return errors.Join(err, offers.Forget(address))
}

// remotesNote says which organisations' configurations wait for trust; "" when none does.
func remotesNote(remotes []config.RemoteState) string {
	for _, r := range remotes {
		if !r.Claim.Empty() && !r.Trusted {
			return fmt.Sprintf("the configuration of %s wants more than it may until you trust it: cairn auth login %[1]s", line(r.Address, 100))
		}
	}
	return ""
}
