package wellknown

import (
	"context"

	"github.com/cairn-dev/cairn/internal/session"
)

// Offer is the configuration that an organisation offers.
type Offer struct {
	Address   string   // in the form in which it is kept
	Env       string   // the name of the token that it needs; "" needs none
	Command   []string // what prints one
	Elsewhere string   // where it names further configuration, "" nowhere
	Carriers  []string // the headers in which the token goes there
	Document  []byte
}

// FetchOffer fetches the offer at an address that the user typed.
func (r *Remotes) FetchOffer(ctx context.Context, text string) (*Offer, error) {
	address, err := NormalizeAddress(text)
	if err != nil {
		return nil, session.Errorf(session.CodeInvalid, "%v", err)
	}
	raw, err := Fetch(ctx, address, nil)
	if err != nil {
		return nil, err
	}
	d, err := Parse(raw)
	if err != nil {
		return nil, err
	}
	offer := &Offer{Address: address, Env: d.Auth.Env, Command: d.Auth.Command, Document: raw}
	if link, err := d.RemoteConfig(address); link != nil && err == nil {
		offer.Elsewhere, offer.Carriers = link.Source(), link.TokenHeaders()
	}
	return offer, nil
}

// Keep has the offer read as part of the configuration, while there is a login at its address.
func (r *Remotes) Keep(o *Offer) error { return r.Cache.Put(o.Address, o.Document) }

// Further fetches and keeps what the kept document of a login's address names, unless the token may not go there yet.
func (r *Remotes) Further(ctx context.Context, address string) error {
	logins, err := r.Auth.ListLogins()
	if err != nil {
		return err
	}
	for _, l := range logins {
		if l.Address == address {
			return r.refreshLinked(ctx, l, 0)
		}
	}
	return session.Errorf(session.CodeNotFound, "no login is stored for %s", address)
}

// Forget removes what was kept of an address.
func (r *Remotes) Forget(address string) error { return r.Cache.Remove(address) }
