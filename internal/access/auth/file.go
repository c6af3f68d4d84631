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

// entry is the stored form of a credential, which for keys is that of OpenCode's auth.json. Unknown members survive.
type entry struct {
	Type        Kind           `json:"type"`
	Key         string         `json:"key,omitzero"`
	Refresh     string         `json:"refresh,omitzero"`
	Access      string         `json:"access,omitzero"`
	Expires     int64          `json:"expires,omitzero"` // milliseconds since 1970; 0 is never
	KeyringName string         `json:"keyring,omitzero"` // of the entry in the keyring; the file has its kind then
	Extra       jsontext.Value `json:",embed"`

	invalid   string           // why the row is not a credential; "" if it is one
	rawValues []jsontext.Value // of the file; written back unchanged if the row is invalid
}

// fileEntries are the rows of the file.
type fileEntries map[string]entry

// MarshalJSONTo implements json.MarshalerTo. Invalid rows, also duplicate ones, are written as they were read.
func (all fileEntries) MarshalJSONTo(enc *jsontext.Encoder) error {
	err := enc.WriteToken(jsontext.BeginObject)
	for _, provider := range slices.Sorted(maps.Keys(all)) {
		e := all[provider]
		type plain entry
		if e.invalid == "" {
			err = errors.Join(err, enc.WriteToken(jsontext.String(provider)), json.MarshalEncode(enc, plain(e)))
			continue
		}
		for _, raw := range e.rawValues {
			err = errors.Join(err, enc.WriteToken(jsontext.String(provider)), enc.WriteValue(raw))
		}
	}
	return errors.Join(err, enc.WriteToken(jsontext.EndObject))
}

// lenient accepts duplicate and invalid names, so that one invalid row does not make the others unreadable.
var lenient = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// readFile returns the rows of the file by provider. An invalid row is marked and fails no other.
func (s *Store) readFile() (map[string]entry, error) {
	// A missing file has no rows, and null counts as missing.
	all := map[string]entry{}
	raw, err := statefile.Read(s.path, maxFile)
	if raw == nil || err != nil {
		return all, err
	}
	if err := statefile.CheckVersion(s.path, raw, fileVersion); err != nil {
		return nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewReader(bytes.TrimPrefix(raw, []byte("\ufeff"))), lenient)
	if dec.PeekKind() == 'n' {
		return all, nil
	}
	// Read the object row by row, so that an invalid row can be marked.
	for first := true; err == nil && (first || dec.PeekKind() != '}'); {
		if first {
			first, err = false, readObjectStart(dec)
			continue
		}
		err = readRow(dec, all)
	}
	// Nothing may follow the end of the object.
	if err == nil {
		_, err = dec.ReadToken()
	}
	if err == nil {
		if _, after := dec.ReadToken(); !errors.Is(after, io.EOF) {
			err = errors.New("data after the object")
		}
	}
	if err != nil { // err may quote the file: it is not shown
		at := dec.InputOffset()
		if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			at = e.ByteOffset
		}
		return nil, fmt.Errorf("%s is not a JSON object of credentials (at byte %d); "+
			"repair it, or move it away and run cairn auth login", s.path, at)
	}
	return all, nil
}

func readObjectStart(dec *jsontext.Decoder) error {
	tok, err := dec.ReadToken()
	if err == nil && tok.Kind() != '{' {
		err = errors.New("not an object")
	}
	return err
}

// readRow reads one row.
func readRow(dec *jsontext.Decoder, all map[string]entry) error {
	name, err := dec.ReadToken()
	if err != nil {
		return err
	}
	provider := name.String()
	value, err := dec.ReadValue()
	if err != nil {
		return err
	}
	e := parseEntry(value.Clone())
	e.rawValues = []jsontext.Value{value.Clone()}
	if before, twice := all[provider]; twice {
		e.invalid, e.rawValues = "it occurs twice", append(before.rawValues, e.rawValues...)
	}
	all[provider] = e
	return nil
}

// parseEntry parses the value of a row.
func parseEntry(raw jsontext.Value) entry {
	type plain entry
	var e plain
	if raw.Kind() != '{' || json.Unmarshal(raw, &e) != nil { // the error may quote the secret
		return entry{invalid: "it is not a credential", rawValues: []jsontext.Value{raw}}
	}
	out := entry(e)
	out.Key = strings.TrimSpace(e.Key)
	out.Refresh, out.Access = strings.TrimSpace(e.Refresh), strings.TrimSpace(e.Access)
	if why := out.invalidReason(); why != "" {
		return entry{invalid: why, rawValues: []jsontext.Value{raw}}
	}
	return out
}

// invalidReason says why an entry is not a credential; "" if it is one.
func (e entry) invalidReason() string {
	switch {
	case e.Type == "":
		return "it has no type"
	case e.KeyringName != "", e.Type != KindKey && e.Type != KindOAuth:
		return "" // other kinds are not interpreted
	case hasControlCharacter(e.Key + e.Refresh + e.Access):
		return "it contains a control character"
	case e.Type == KindKey && e.Key == "":
		return "its key is empty"
	case e.Type == KindOAuth && e.Access == "" && e.Refresh == "":
		return "it has no token"
	default:
		return ""
	}
}

// hasControlCharacter reports whether a text cannot be sent in a header.
func hasControlCharacter(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}

// Info describes a stored credential without showing it.
type Info struct {
	Provider string `json:"provider"`
	Kind     Kind   `json:"kind"`
	From     string `json:"from"` // as in Credential
}

// List returns what is stored, by provider.
func (s *Store) List() ([]Info, error) {
	all, err := s.readFile()
	if err != nil {
		return nil, err
	}
	list := []Info{}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		if e := all[p]; e.invalid == "" {
			list = append(list, Info{p, e.Type, s.describeEntryPlace(e)})
		}
	}
	return list, nil
}

// Problem is a stored credential that cannot be used.
type Problem struct {
	Provider string
	Err      error
}

// ListProblems returns the stored credentials that cannot be used now: invalid rows, and entries that the keyring does
// not give out.
func (s *Store) ListProblems(ctx context.Context) ([]Problem, error) {
	all, err := s.readFile()
	if err != nil {
		return nil, err
	}
	var list []Problem
	for _, p := range slices.Sorted(maps.Keys(all)) {
		err := s.entryError(p, all[p])
		if err == nil {
			_, err = s.withSecrets(ctx, p, all[p])
		}
		if err != nil {
			list = append(list, Problem{p, err})
		}
	}
	return list, nil
}

// entryError returns the error for an invalid row; nil if it is valid.
func (s *Store) entryError(provider string, e entry) error {
	if e.invalid == "" {
		return nil
	}
	return fmt.Errorf("the entry of %s in %s cannot be used: %s; "+
		"run cairn auth login %[1]s, or cairn auth logout %[1]s to remove it", provider, s.path, e.invalid)
}

// CheckEntry returns why the row of a provider is invalid; nil if it is valid or missing.
func (s *Store) CheckEntry(provider string) error {
	all, err := s.readFile()
	if err != nil {
		return err
	}
	return s.entryError(provider, all[provider])
}

// ListSecrets returns all stored secrets, for code that must leave them out of its output, and those that cannot be
// read now.
func (s *Store) ListSecrets(ctx context.Context) (secrets []Secret, unreadable []Problem, err error) {
	all, err := s.readFile()
	if err != nil {
		return nil, nil, err
	}
	for _, p := range slices.Sorted(maps.Keys(all)) {
		e := all[p]
		if e.invalid != "" {
			for _, raw := range e.rawValues {
				secrets = append(secrets, collectStrings(raw)...)
			}
			continue
		}
		if e, err = s.withSecrets(ctx, p, e); err != nil {
			unreadable = append(unreadable, Problem{p, err})
			continue
		}
		found := []Secret{NewSecret(e.Refresh), NewSecret(e.Access), e.loginToken()}
		if e.Type != KindWellKnown { // its Key is the name of a variable
			found = append(found, NewSecret(e.Key))
		}
		secrets = append(secrets, slices.DeleteFunc(found, Secret.IsZero)...)
	}
	for _, f := range readShared(s.sharedPath()) {
		secrets = append(secrets, NewSecret(f.Access))
	}
	return secrets, unreadable, nil
}

// collectStrings returns all strings in a JSON value.
func collectStrings(raw jsontext.Value) []Secret {
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
