package auth

import (
	"crypto/subtle"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Secret is a key that is not shown by formatting with any verb, by JSON or by log/slog: all give Hidden. The zero
// value has no key.
type Secret struct {
	key *string // a pointer, since fmt prints unexported fields of other types without calling Format
}

// Hidden is shown in place of a secret.
const Hidden = "(hidden)"

// NewSecret returns a secret with the key.
func NewSecret(key string) Secret { return Secret{&key} }

// Reveal returns the key, for the code that sends it.
func (s Secret) Reveal() string {
	if s.key == nil {
		return ""
	}
	return *s.key
}

// IsZero reports whether there is no key.
func (s Secret) IsZero() bool { return s.Reveal() == "" }

// Equal reports whether both are the same key.
func (s Secret) Equal(o Secret) bool {
	return subtle.ConstantTimeCompare([]byte(s.Reveal()), []byte(o.Reveal())) == 1
}

// String returns Hidden, or "" when there is no key.
func (s Secret) String() string {
	if s.IsZero() {
		return ""
	}
	return Hidden
}

// Format writes String for every verb and flag.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalJSONTo writes String; a secret does not survive a round trip through JSON.
func (s Secret) MarshalJSONTo(enc *jsontext.Encoder) error {
	return enc.WriteToken(jsontext.String(s.String()))
}

// UnmarshalJSONFrom reads the key from a string.
func (s *Secret) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err != nil {
		return err
	}
	if tok.Kind() != '"' {
		return fmt.Errorf("want a string")
	}
	*s = NewSecret(tok.String())
	return nil
}
