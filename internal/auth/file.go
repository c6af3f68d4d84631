package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/statefile"
)

// entry is the stored form, that of OpenCode's auth.json for keys; other members survive.
type entry struct {
	Type    Kind           `json:"type"`
	Key     string         `json:"key,omitzero"`
	Refresh string         `json:"refresh,omitzero"`
	Access  string         `json:"access,omitzero"`
	Expires int64          `json:"expires,omitzero"` // milliseconds since 1970; 0 is never
	Ring    string         `json:"keyring,omitzero"` // the keyring's name of the whole entry, of which only the kind stands here
	Extra   jsontext.Value `json:",embed"`

	wrong string           // why the row is no credential; "" if it is one
	raws  []jsontext.Value // what stands in the file under its name; written as it is if that is no credential
}

// rows are what the file holds, as it is written.
type rows map[string]entry

// MarshalJSONTo implements json.MarshalerTo. What stands there twice does so again: nobody knows which is meant.
func (all rows) MarshalJSONTo(enc *jsontext.Encoder) error {
	err := enc.WriteToken(jsontext.BeginObject)
	for _, provider := range slices.Sorted(maps.Keys(all)) {
		e := all[provider]
		type plain entry
		if e.wrong == "" {
			err = errors.Join(err, enc.WriteToken(jsontext.String(provider)), json.MarshalEncode(enc, plain(e)))
			continue
		}
		for _, raw := range e.raws {
			err = errors.Join(err, enc.WriteToken(jsontext.String(provider)), enc.WriteValue(raw))
		}
	}
	return errors.Join(err, enc.WriteToken(jsontext.EndObject))
}

// lenient lets rows be told from one another that are no good in themselves.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// read returns the rows of the file by their provider. One that is no credential is told as such, and fails no other.
func (s *Store) read() (map[string]entry, error) {
	all := map[string]entry{}
	raw, err := statefile.Read(s.path, maxFile)
	if raw == nil || err != nil {
		return all, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))), lenient)
	if dec.PeekKind() == 'n' {
		return all, nil
	}
	for first := true; err == nil && (first || dec.PeekKind() != '}'); {
		if first {
			first, err = false, begin(dec)
			continue
		}
		err = row(dec, all)
	}
	if err == nil {
		_, err = dec.ReadToken()
	}
	if err == nil {
		if _, after := dec.ReadToken(); !errors.Is(after, io.EOF) {
			err = fmt.Errorf("something follows")
		}
	}
	if err != nil { // err may quote the file: it is not shown
		at := dec.InputOffset()
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			at = e.ByteOffset
		}
		return nil, fmt.Errorf("%s is not a JSON object of credentials (at byte %d); repair it, or move it away and run cairn auth login", s.path, at)
	}
	return all, nil
}

func begin(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err == nil && tok.Kind() != '{' {
		err = errors.New("no object")
	}
	return err
}

// row reads one row.
func row(dec *jsontext.Decoder, all map[string]entry) error {
	name, err := dec.ReadToken()
	if err != nil {
		return err
	}
	provider := name.String()
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	e := entryOf(value.Clone())
	e.raws = []jsontext.Value{value.Clone()}
	if before, twice := all[provider]; twice {
		e.wrong, e.raws = "there are two of them", append(before.raws, e.raws...)
	}
	all[provider] = e
	return nil
}

// entryOf reads the value of a row.
func entryOf(raw jsontext.Value) entry {
	type plain entry
	var e plain
	if raw.Kind() != '{' || json.Unmarshal(raw, &e) != nil { // its error may quote the secret
		return entry{wrong: "it is no credential", raws: []jsontext.Value{raw}}
	}
	out := entry(e)
	out.Key, out.Refresh, out.Access = strings.TrimSpace(e.Key), strings.TrimSpace(e.Refresh), strings.TrimSpace(e.Access)
	if why := out.lacks(); why != "" {
		return entry{wrong: why, raws: []jsontext.Value{raw}}
	}
	return out
}

// lacks says what an entry would need to be a credential; "" for nothing.
func (e entry) lacks() string {
	switch {
	case e.Type == "":
		return "it has no type"
	case e.Ring != "", e.Type != KindKey && e.Type != KindOAuth:
		return "" // of other kinds we know nothing
	case unfitForHeaders(e.Key + e.Refresh + e.Access):
		return "it holds a control character"
	case e.Type == KindKey && e.Key == "":
		return "its key is empty"
	case e.Type == KindOAuth && e.Access == "" && e.Refresh == "":
		return "it has no token"
	default:
		return ""
	}
}

// unfitForHeaders reports whether no request could carry the text.
func unfitForHeaders(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Info tells of a stored credential without showing it.
type Info struct {
	Provider string `json:"provider"`
	Kind     Kind   `json:"kind"`
	From     string `json:"from"` // as of a Credential
}

// List names what is stored, by provider.
func (s *Store) List() ([]Info, error) {
	all, err := s.read()
	if err != nil {
		return nil, err
	}
	list := []Info{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if e := all[p]; e.wrong == "" {
			list = append(list, Info{p, e.Type, s.placeOf(e)})
		}
	}
	return list, nil
}

// Trouble is something stored that cannot be used.
type Trouble struct {
	Provider string
	Err      error
}

// Troubles lists what is stored and cannot be used now: rows that are no credentials, and keys that the keyring does not
// give out.
func (s *Store) Troubles(ctx context.Context) ([]Trouble, error) {
	all, err := s.read()
	if err != nil {
		return nil, err
	}
	var list []Trouble
	for _, p := range slices.Sorted(maps.Keys(all)) {
		err := s.wrong(p, all[p])
		if err == nil {
			_, err = s.open(ctx, p, all[p])
		}
		if err != nil {
			list = append(list, Trouble{p, err})
		}
	}
	return list, nil
}

// wrong says that a row is no credential.
func (s *Store) wrong(provider string, e entry) error {
	if e.wrong == "" {
		return nil
	}
	return fmt.Errorf("the row of %s in %s cannot be used: %s; run cairn auth login %[1]s, or cairn auth logout %[1]s to remove it", provider, s.path, e.wrong)
}

// Wrong says why what is kept for a provider is no credential; nil if it is one, or nothing is.
func (s *Store) Wrong(provider string) error {
	all, err := s.read()
	if err != nil {
		return err
	}
	return s.wrong(provider, all[provider])
}

// Secrets returns all that is kept and secret, for those who must leave it out of something, and what cannot be read of
// it now.
func (s *Store) Secrets(ctx context.Context) (known []Secret, missing []Trouble, err error) {
	all, err := s.read()
	if err != nil {
		return nil, nil, err
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		e := all[p]
		if e.wrong != "" {
			for _, raw := range e.raws {
				known = append(known, texts(raw)...)
			}
			continue
		}
		if e, err = s.open(ctx, p, e); err != nil {
			missing = append(missing, Trouble{p, err})
			continue
		}
		found := []Secret{NewSecret(e.Refresh), NewSecret(e.Access), e.loginToken()}
		if e.Type != KindWellKnown { // there it is the name of a variable
			found = append(found, NewSecret(e.Key))
		}
		known = append(known, slices.DeleteFunc(found, Secret.IsZero)...)
	}
	for _, f := range readFetched(s.fetchedPath()) {
		known = append(known, NewSecret(f.Access))
	}
	return known, missing, nil
}

// texts are all texts of a value.
func texts(raw jsontext.Value) []Secret {
	var out []Secret
	dec := jsontext.NewDecoder(bytes.NewReader(raw), lenient)
	for {
		t, err := dec.ReadToken()
		if err != nil {
			return out
		}
		if kind, n := dec.StackIndex(dec.StackDepth()); t.Kind() == '"' && (kind != '{' || n%2 == 0) {
			out = append(out, NewSecret(t.String()))
		}
	}
}
