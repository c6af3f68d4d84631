// Package redaction removes secrets from what leaves a session: exports, pages, previews, and uploads to share servers.
package redaction

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm/redact"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/terminal"
)

// Filter replaces known secrets, texts that have the form of a secret, and the texts and numbers of members with the name
// of one, by redact.Mark. The zero value recognises secrets by their form and their names. It is not safe for concurrent use.
type Filter struct {
	Known       []string // values of known secrets
	KeepSecrets bool     // nothing is replaced
	// OnReplace, if not nil, is called with each text before it is replaced.
	OnReplace func(text string)

	plainKnown []string // Known, also as readers see them
	replaced   int
	names      map[string]string // of members, without secrets
}

// Replaced returns how many texts were replaced until now.
func (f *Filter) Replaced() int { return f.replaced }

// Text returns the text without secrets. member is the name of the JSON member that has the text, "" without one.
func (f *Filter) Text(member, text string) string {
	if f.KeepSecrets || text == "" {
		return text
	}
	// A data: URL is decoded first: an encoded secret has no form.
	if out, ok := f.filterDataURL(text); ok {
		return out
	}
	var out string
	if redact.IsCredentialName(redact.FoldName(member)) {
		out = redact.Mark
	} else {
		out = f.maskRendered(text)
	}
	if out != text {
		f.noteReplaced(text)
	}
	return out
}

// maskRendered masks a text, and the secrets that only its readers see: control sequences of colours and the marks of Markdown
// hide them in the text itself. A text with such a secret is returned as readers see it, with the secrets of all forms
// replaced.
func (f *Filter) maskRendered(text string) string {
	masked := f.Mask(text)
	clean := terminal.CleanOutput(text)
	plain := stripMarkup(clean, false)
	if plain == text {
		return masked
	}
	// Mask it with all marks, with those of code, and with none.
	shown := plain
	if masked != text {
		shown = renderPlain(masked)
	}
	forms := []string{shown, f.maskPlain(plain)}
	if quoted := stripMarkup(clean, true); quoted != plain && quoted != text {
		forms = append(forms, stripCode(f.maskPlain(quoted)))
	}
	if !slices.ContainsFunc(forms, func(form string) bool { return form != shown }) {
		return masked
	}
	return mergeMasked(plain, forms...)
}

// renderPlain returns the text as its readers see it.
func renderPlain(text string) string { return stripMarkup(terminal.CleanOutput(text), false) }

// maskPlain is Mask for a text without marks.
func (f *Filter) maskPlain(text string) string {
	if f.plainKnown == nil {
		for _, secret := range f.Known {
			f.plainKnown = append(f.plainKnown, secret, renderPlain(secret), stripMarkup(secret, true))
		}
	}
	return string(redact.MaskText(redact.MaskValues([]byte(text), f.plainKnown)))
}

// noteReplaced counts a text that is replaced.
func (f *Filter) noteReplaced(text string) {
	f.replaced++
	if f.OnReplace != nil {
		f.OnReplace(text)
	}
}

// Mask returns the text with its secrets replaced by redact.Mark. Unlike Text it counts nothing.
func (f *Filter) Mask(text string) string {
	return string(redact.MaskText(redact.MaskValues([]byte(text), f.Known)))
}

// filterDataURL returns a data: URL without the secrets of its text. ok is false for another text. Of an attachment that is
// not UTF-8, such as an image, only the known secrets are replaced, in the form in which they are known.
func (f *Filter) filterDataURL(text string) (filtered string, ok bool) {
	head, data, ok := strings.Cut(text, ";base64,")
	if !ok || !strings.HasPrefix(head, "data:") || strings.ContainsAny(head, " \n") {
		return "", false
	}
	content, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return text, false
	}
	var out []byte
	if utf8.Valid(content) {
		out = []byte(f.Text("", string(content)))
	} else if out = redact.MaskValues(content, f.Known); !bytes.Equal(out, content) {
		f.noteReplaced(string(content))
	}
	if bytes.Equal(out, content) {
		return text, true
	}
	return head + ";base64," + base64.StdEncoding.EncodeToString(out), true
}

// WriteJSON writes a value without the secrets of its texts, of the names of its members, and of the numbers of members
// with the name of a secret. A list has the name of its member.
func (f *Filter) WriteJSON(enc *jsontext.Encoder, v jsontext.Value) error {
	if f.KeepSecrets {
		return enc.WriteValue(v)
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(v), jsontext.AllowInvalidUTF8(true))
	members := []string{""} // the current member at each depth
	collisions := 1
	for dec.StackDepth() > 0 || dec.InputOffset() == 0 {
		t, err := dec.ReadToken()
		if err != nil {
			return err
		}
		// Keep the name that the token has, and replace it if it is a secret.
		depth := dec.StackDepth()
		isName := false
		switch kind, n := dec.StackIndex(depth); t.Kind() {
		case '{':
			members = append(members[:depth], "")
		case '[':
			members = append(members[:depth], members[depth-1])
		case '"':
			text := t.String()
			if isName = kind == '{' && n%2 == 1; isName {
				members[depth] = text
				t = jsontext.String(f.filterName(text))
			} else if text != "" {
				t = jsontext.String(f.Text(members[depth], text))
			}
		case '0':
			if redact.IsCredentialName(redact.FoldName(members[depth])) {
				f.noteReplaced(t.String())
				t = jsontext.String(redact.Mark)
			}
		}
		// Write it. Names that have become equal are numbered.
		written := t
		for err = enc.WriteToken(t); isName && errors.Is(err, jsontext.ErrDuplicateName); err = enc.WriteToken(written) {
			collisions++
			written = jsontext.String(fmt.Sprintf("%s %d", t.String(), collisions))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// maxNames is the number of names whose results a filter keeps.
const maxNames = 1000

// filterName returns the name of a member without secrets.
func (f *Filter) filterName(name string) string {
	out, isKnown := f.names[name]
	if !isKnown {
		out = f.Mask(name)
		if f.names == nil || len(f.names) >= maxNames {
			f.names = map[string]string{}
		}
		f.names[name] = out
	}
	if out != name {
		f.noteReplaced(name)
	}
	return out
}

// JSON returns a value without the secrets of its texts.
func (f *Filter) JSON(v jsontext.Value) (jsontext.Value, error) {
	if f.KeepSecrets {
		return v, nil
	}
	var out bytes.Buffer
	err := f.WriteJSON(jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true)), v)
	return bytes.TrimSpace(out.Bytes()), err
}

// Message returns a message without the secrets of its texts. A renderer that shortens texts must get a filtered
// message: a part of a secret has no form.
func (f *Filter) Message(m session.Message) (session.Message, error) {
	if f.KeepSecrets {
		return m, nil
	}
	raw, err := session.EncodeMessage(m)
	if err == nil {
		raw, err = f.JSON(raw)
	}
	if err != nil {
		return nil, err
	}
	clean, err := session.DecodeMessage(raw)
	if err == nil {
		clean.Meta().Seq = m.Meta().Seq
	}
	return clean, err
}

// Session returns a session without the secrets of its texts.
func (f *Filter) Session(s *session.Session) (*session.Session, error) {
	if f.KeepSecrets {
		return s, nil
	}
	raw, err := json.Marshal(s, jsontext.AllowInvalidUTF8(true))
	if err == nil {
		raw, err = f.JSON(raw)
	}
	if err != nil {
		return nil, err
	}
	clean := new(session.Session)
	return clean, json.Unmarshal(raw, clean, jsontext.AllowInvalidUTF8(true))
}
