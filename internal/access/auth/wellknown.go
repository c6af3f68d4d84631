package auth

import (
	"context"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// KindWellKnown is the kind of a login at an organisation's address, which offers a configuration.
const KindWellKnown Kind = "wellknown"

// Login is a login at the address of an organisation.
type Login struct {
	Address string
	Env     string // the name of the token in the configuration; "" if it needs none
	Token   Secret
}

// SetLogin stores a login in place of the one for its address.
func (s *Store) SetLogin(ctx context.Context, l Login) error {
	token := trimKey(l.Token)
	if hasControlCharacter(token) {
		return newInvalidError("the token contains a control character; copy it again")
	}
	extra, err := json.Marshal(map[string]string{"token": token})
	if err != nil {
		return err
	}
	return s.storeEntry(ctx, l.Address, entry{Type: KindWellKnown, Key: l.Env, Extra: extra})
}

// ListLogins returns the logins by address. If the keyring does not give out a token, the login has none.
func (s *Store) ListLogins() ([]Login, error) {
	all, err := s.readFile()
	if err != nil {
		return nil, err
	}
	var list []Login
	for _, address := range slices.Sorted(maps.Keys(all)) {
		if e := all[address]; e.Type == KindWellKnown {
			opened, err := s.withSecrets(context.Background(), address, e)
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
