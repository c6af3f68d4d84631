package auth

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// KindWellKnown is the kind of a login to an organisation that offers a configuration.
const KindWellKnown Kind = "wellknown"

// Login is a login to the address of an organisation.
type Login struct {
	Address string
	Env     string // the name by which the configuration there refers to the token; "" needs none
	Token   Secret
}

// SetLogin stores a login in place of what was stored for its address.
func (s *Store) SetLogin(ctx context.Context, l Login) error {
	token := trimmed(l.Token)
	if unfitForHeaders(token) {
		return unfit("the token holds a control character; copy it again")
	}
	extra, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return err
	}
	return s.put(ctx, l.Address, entry{Type: KindWellKnown, Key: l.Env, Extra: extra})
}

// Logins lists the logins, by address. One whose token the keyring does not give out now is listed without it.
func (s *Store) Logins() ([]Login, error) {
	all, err := s.read()
	if err != nil {
		return nil, err
	}
	var list []Login
	for _, address := range slices.Sorted(maps.Keys(all)) {
		if e := all[address]; e.Type == KindWellKnown {
			opened, err := s.open(context.Background(), address, e)
			if err != nil {
				opened = entry{}
			}
			list = append(list, Login{address, e.Key, opened.loginToken()})
		}
	}
	return list, nil
}

func (e entry) loginToken() Secret {
	var in struct {
		Token string         `json:"token"`
		Extra jsontext.Value `json:",embed"`
	}
	if len(e.Extra) == 0 || json.Unmarshal(e.Extra, &in) != nil {
		return Secret{}
	}
	return NewSecret(in.Token)
}
