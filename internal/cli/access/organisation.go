package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/cli"
	"github.com/cairn-dev/cairn/internal/models/wellknown"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// organisation is a login to the address of one, which offers a configuration to those who work for it.
type organisation struct {
	address string
	args    []string // of auth login
	yes     bool
}

// loginOrganisation keeps the token that the organisation asks for and its configuration, and asks whether to trust
// that.
func (g authCommands) loginOrganisation(ctx context.Context, org organisation) error {
	// Fetch what the organisation offers: the address, the name of the token's variable, and further configuration.
	o, err := g.inv.HostOptions("")
	if err != nil {
		return err
	}
	offers, err := g.inv.Host.Offers(o)
	if err != nil {
		return err
	}
	offer, err := offers.FetchOffer(ctx, org.address)
	if err != nil {
		return err
	}
	if offer.Elsewhere != "" {
		g.inv.Note(describeFurther(offer))
	}
	// Take the stored token, or ask for one.
	store, err := g.inv.OpenKeys()
	if err != nil {
		return err
	}
	login := auth.Login{Address: offer.Address, Env: offer.Env, Token: keptToken(store, offer)}
	if login.Token.IsZero() || len(org.args) == 2 {
		if login.Token, err = g.organisationToken(ctx, org, offer); err != nil {
			return err
		}
	}
	// The audit log is written before the change.
	if err := g.inv.RecordSettings(ctx, "store the login at "+login.Address); err != nil {
		return err
	}
	if err := g.whileKeyring(func() error { return store.SetLogin(ctx, login) }); err != nil {
		return classifyStoreError(err)
	}
	// Keep the configuration as it was fetched, so that what is asked about next is what is used.
	g.notePassed(store, login.Address)
	if err := offers.Keep(offer); err != nil {
		return err
	}
	if !g.inv.JSON {
		g.inv.Err.Printf(
			"Stored the login at %s in %s. Its configuration is the lowest layer.\n",
			terminal.FirstLine(offer.Address, 100),
			store.DescribePlace(offer.Address),
		)
	}
	// The offer's address is the canonical one. Ask whether to trust what needs trust.
	org.address = offer.Address
	return g.trustOffer(ctx, offers, org)
}

// trustOffer has the organisation's configuration trusted: its document, then what that names, which may not be fetched
// before.
func (g authCommands) trustOffer(ctx context.Context, offers *wellknown.Remotes, org organisation) error {
	document, err := g.trustOrganisation(ctx, org)
	if err != nil {
		return err
	}
	if err := offers.Further(ctx, org.address); err != nil {
		return fmt.Errorf("the login is stored, but its further configuration could not be fetched: %w", err)
	}
	named, err := g.trustOrganisation(ctx, org)
	if err != nil {
		return err
	}
	done, said := cli.Change{Root: org.address, Hash: cmp.Or(named, document)}, ""
	if done.Hash != "" {
		said = "Trusted until it changes."
	}
	g.inv.ReportChange(done, said)
	return nil
}

// describeFurther says which other configuration is fetched, and which part of the login is sent there.
func describeFurther(o *wellknown.Offer) string {
	text := fmt.Sprintf(
		"%s names further configuration at %s",
		terminal.FirstLine(o.Address, 100),
		terminal.FirstLine(o.Elsewhere, 200),
	)
	if len(o.Carriers) > 0 {
		text += fmt.Sprintf(", where the token goes as %s", terminal.FirstLine(strings.Join(o.Carriers, ", "), 100))
	}
	return text
}

// keptToken is the token of an earlier login. To give another one, pipe it in.
func keptToken(store *auth.Store, offer *wellknown.Offer) auth.Secret {
	logins, err := store.ListLogins()
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
func (g authCommands) organisationToken(ctx context.Context, org organisation, wants *wellknown.Offer) (auth.Secret, error) {
	if wants.Env == "" {
		return auth.Secret{}, nil
	}
	if len(wants.Command) > 0 && len(org.args) == 1 {
		g.inv.Note(
			fmt.Sprintf(
				"a token is needed as %s; this command prints one (cairn does not run it): %s",
				terminal.FirstLine(wants.Env, 60),
				terminal.FirstLine(strings.Join(wants.Command, " "), 200),
			),
		)
	}
	token, err := g.readKey(ctx, org.args)
	if err == nil && token.IsZero() {
		err = cli.UsageErrorf("the token is empty")
	}
	return token, err
}

// trustOrganisation shows the settings of the organisation's configuration that need trust and, after a confirmation,
// trusts that content. It returns the hash of the content that was trusted last, "" if none was.
func (g authCommands) trustOrganisation(ctx context.Context, org organisation) (hash string, err error) {
	// Load the configuration as a session would.
	o, err := g.inv.HostOptions("")
	if err != nil {
		return "", err
	}
	cfg, store, err := trustCommands(g).loadClaim(ctx, o)
	if err != nil {
		return "", err
	}
	// Find the organisation's documents with content that is not trusted yet.
	for _, r := range cfg.Remotes {
		if r.Address != org.address || r.Claim.IsEmpty() || r.Trusted {
			continue
		}
		// Show why each file needs trust, and ask.
		for _, f := range r.Claim.Files {
			g.inv.Err.Printf(
				"These settings have no effect without your trust: %s (%s)\n",
				terminal.FirstLine(strings.Join(f.Why, ", "), 400),
				terminal.FirstLine(f.Path, 200),
			)
		}
		if !org.yes {
			q := cli.Confirmation{
				What: "trust this content of " + org.address,
				Hint: "Look at it with cairn config explain, then repeat with --yes.",
			}
			if err := g.inv.Confirm(ctx, q); err != nil {
				return "", err
			}
		}
		// Trust exactly the content that was shown.
		if err := store.Trust(ctx, r.Claim); err != nil {
			return "", err
		}
		hash = r.Claim.Hash()
	}
	return hash, nil
}

// logoutOrganisation forgets an organisation's configuration, and the trust in it.
func (g authCommands) logoutOrganisation(ctx context.Context, address string) error {
	o, err := g.inv.HostOptions("")
	if err != nil {
		return err
	}
	offers, err := g.inv.Host.Offers(o)
	if err != nil {
		return err
	}
	store, err := g.inv.Host.Trust(o)
	if err != nil {
		return err
	}
	_, err = store.Revoke(ctx, address)
	return errors.Join(err, offers.Forget(address))
}
