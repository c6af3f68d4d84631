package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"

	"github.com/cairn-dev/cairn/internal/access/auth"
	"github.com/cairn-dev/cairn/internal/location/config/document"
	"github.com/cairn-dev/cairn/internal/location/config/upgrade"
)

// Edit returns the text of a configuration file with the key set to the value, or removed if the value is nil.
// Comments, order, unknown keys and other spellings of keys are preserved. It returns an error if the result would be
// invalid, or would hold auth.Hidden in place of a secret.
func Edit(name string, text []byte, key string, value jsontext.Value) ([]byte, error) {
	// Parse the text twice: as cairn reads it, which finds other spellings of the key, and as a tree that keeps
	// comments.
	d := &document.Document{Name: name, Layer: document.LayerUser, Text: text}
	if err := d.Parse(); err != nil {
		return nil, err
	}
	if d.IsBlank() { // a new file is of the current version; others keep theirs
		text = fmt.Appendf(bytes.Clone(text), "{\n  %q: %d\n}\n", document.VersionKey, upgrade.Current)
	}
	root, err := hujson.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	// Set or remove the value. A hidden secret, copied from cairn's own output, must not overwrite the real one.
	path, err := editPath(d.Root, key)
	if err != nil {
		return nil, err
	}
	switch {
	case value == nil:
		err = removeAt(&root, path)
	case bytes.Contains(value, document.AppendQuoted(nil, auth.Hidden)):
		err = fmt.Errorf("%q stands for a secret in what cairn shows; give the secret, or leave it out", auth.Hidden)
	default:
		err = setAt(&root, path, value)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	// Load the result as a user's document: an edit must not leave a file that cairn refuses. References stay as
	// they are.
	out := root.Pack()
	l := &loader{
		literal: true,
		getenv:  func(string) string { return "" },
		config:  &Config{agentRules: map[string][]RuleList{}},
	}
	edited := &document.Document{Name: name, Layer: document.LayerUser, Text: out}
	if err := l.addDocument(edited); err != nil {
		return nil, err
	}
	return out, nil
}

// editPath splits a key at its dots into the path of members. Existing members whose names contain dots are matched
// first, and a quoted part is one name. A key that the file writes in another spelling keeps that spelling.
func editPath(root *document.Node, key string) ([]string, error) {
	words, err := splitKey(key)
	if err != nil {
		return nil, err
	}
	for other, name := range document.OtherSpellings[""] {
		if words[0] == name && root.Get(other) != nil {
			words[0] = other
		} else if words[0] == other && root.Get(name) != nil {
			words[0] = name
		}
	}
	var path []string
	for n := root; len(words) > 0; {
		name, next := longestMember(n, words)
		if next == nil {
			return append(path, words...), nil
		}
		path, words, n = append(path, strings.Join(name, ".")), words[len(name):], next
	}
	return path, nil
}

// splitKey splits a key such as provider."my.name".options at its dots; a quoted part may contain dots. It refuses
// empty parts.
func splitKey(key string) ([]string, error) {
	var words []string
	if !utf8.ValidString(key) {
		return nil, errors.New("the key is not valid UTF-8")
	}
	// Take one part, quoted or up to the next dot.
	for rest := key; ; {
		word := rest
		if strings.HasPrefix(rest, `"`) {
			end := strings.Index(rest[1:], `"`)
			if end < 0 {
				return nil, errors.New("a quote in the key is not closed")
			}
			word, rest = rest[1:1+end], rest[end+2:]
		} else {
			word, _, _ = strings.Cut(rest, ".")
			rest = rest[len(word):]
		}
		if word == "" {
			return nil, errors.New("the key has an empty part")
		}
		// Then there is a dot and another part, or the end.
		words = append(words, word)
		if rest == "" {
			return words, nil
		}
		if rest[0] != '.' {
			return nil, errors.New("a quoted part of the key must end at a dot")
		}
		rest = rest[1:]
	}
}

func memberOf(o *hujson.Object, name string) *hujson.ObjectMember {
	for i := range o.Members {
		if nameOf(o.Members[i]) == name {
			return &o.Members[i]
		}
	}
	return nil
}

func nameOf(m hujson.ObjectMember) string {
	lit, _ := m.Name.Value.(hujson.Literal) // the parser accepts only literals as names
	return lit.String()
}

func setAt(v *hujson.Value, path []string, value jsontext.Value) error {
	// Descend along the path and create what is missing, in the style of the lines around it.
	indent, inline := "", false
	for i, name := range path {
		o, ok := v.Value.(*hujson.Object)
		if !ok {
			return fmt.Errorf("its parent is not an object")
		}
		m := memberOf(o, name)
		if m == nil {
			m = appendMember(o, name, indent, inline)
		}
		if i == len(path)-1 {
			parsed, err := hujson.Parse(value)
			if err != nil {
				return err
			}
			m.Value.Value = parsed.Value
			return nil
		}
		if m.Value.Value == nil {
			m.Value.Value = &hujson.Object{}
		}
		indent, inline = lineIndent(m.Name.BeforeExtra, indent), bytes.IndexByte(m.Name.BeforeExtra, '\n') < 0
		v = &m.Value
	}
	return nil
}

// lineIndent returns the indentation after the last line break, or otherwise if there is no line break.
func lineIndent(extra hujson.Extra, otherwise string) string {
	if i := bytes.LastIndexByte(extra, '\n'); i >= 0 {
		return string(extra[i+1:])
	}
	return otherwise
}

// appendMember adds a member without a value, formatted like the existing members or else like the object's parent. A
// comment after the last member stays in place.
func appendMember(o *hujson.Object, name, indent string, inline bool) *hujson.ObjectMember {
	quoted, _ := jsontext.AppendQuote(nil, name) // a part of a key is valid
	m := hujson.ObjectMember{
		Name:  hujson.Value{Value: hujson.Literal(quoted)},
		Value: hujson.Value{BeforeExtra: hujson.Extra(" ")},
	}
	inner, broken := indent+"  ", !inline
	if n := len(o.Members); n > 0 {
		first := o.Members[0].Name.BeforeExtra
		inner, broken = lineIndent(first, ""), bytes.IndexByte(first, '\n') >= 0
	}
	if broken {
		kept := bytes.TrimRight(o.AfterExtra, " \t\r\n")
		m.Name.BeforeExtra = hujson.Extra(string(kept) + "\n" + inner)
		o.AfterExtra = hujson.Extra("\n" + indent)
	} else if len(o.Members) > 0 {
		m.Name.BeforeExtra = hujson.Extra(" ")
	}
	if n := len(o.Members); n > 0 && o.Members[n-1].Value.AfterExtra != nil && broken { // a trailing comma stays one
		m.Value.AfterExtra = hujson.Extra{}
	}
	o.Members = append(o.Members, m)
	return &o.Members[len(o.Members)-1]
}

// removeAt removes a member with the comments above and after it.
func removeAt(v *hujson.Value, path []string) error {
	// Find the object that contains the member.
	last := len(path) - 1
	for _, name := range path[:last] {
		o, ok := v.Value.(*hujson.Object)
		if !ok || memberOf(o, name) == nil {
			return errNotSet
		}
		v = &memberOf(o, name).Value
	}
	o, ok := v.Value.(*hujson.Object)
	if !ok {
		return errNotSet
	}
	i := slices.IndexFunc(o.Members, func(m hujson.ObjectMember) bool { return nameOf(m) == path[last] })
	if i < 0 {
		return errNotSet
	}
	// Remove it. The text behind it belongs to the next member, or to the end of the object.
	gone := o.Members[i]
	o.Members = slices.Delete(o.Members, i, i+1)
	following := &o.AfterExtra
	if i < len(o.Members) {
		following = &o.Members[i].Name.BeforeExtra
	}
	// A comment on the line of the token before stays; comments above and behind the member go.
	before, _ := firstLine(gone.Name.BeforeExtra)
	if _, rest := firstLine(*following); rest != nil {
		*following = append(before, rest...)
	} else if i == 0 && len(o.Members) > 0 {
		*following = gone.Name.BeforeExtra
	}
	if i == len(o.Members) && i > 0 { // a trailing comma stays one
		value := &o.Members[i-1].Value
		switch {
		case gone.Value.AfterExtra != nil && value.AfterExtra == nil:
			value.AfterExtra = hujson.Extra{}
		case gone.Value.AfterExtra == nil && len(value.AfterExtra) == 0:
			value.AfterExtra = nil
		}
	}
	return nil
}

var errNotSet = errors.New("not set in this file")

// firstLine splits extra at its first line break. The part before it belongs to the preceding token's line; rest is nil
// if there is no line break.
func firstLine(extra hujson.Extra) (line, rest hujson.Extra) {
	i := bytes.IndexByte(extra, '\n')
	if i < 0 {
		return nil, nil
	}
	return slices.Clone(extra[:i]), extra[i:]
}
