package transfer

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// sanitizeMessage returns the message without texts, paths and outputs, as cairn stores it. What stays is its
// structure: types, ids, numbers and times, and the names of agents, models and tools.
func (e *Export) sanitizeMessage(m session.Message) (session.Message, error) {
	raw, err := session.EncodeMessage(m)
	if err != nil {
		return nil, err
	}
	out, err := session.DecodeMessage(e.sanitizeStored(raw))
	if err == nil {
		out.Meta().Seq = m.Meta().Seq
	}
	return out, err
}

// sanitizeSession does the same for a session.
func (e *Export) sanitizeSession(s *session.Session) (*session.Session, error) {
	raw, err := json.Marshal(s, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return nil, err
	}
	out := new(session.Session)
	return out, json.Unmarshal(e.sanitizeStored(raw), out)
}

// sanitizeStored replaces texts in stored JSON. A value that it cannot read is replaced as a whole.
func (e *Export) sanitizeStored(v jsontext.Value) jsontext.Value {
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err := e.sanitizeValue(enc, "", v, false); err != nil {
		return jsontext.Value(`{"redacted":"[redacted]"}`)
	}
	return bytes.TrimSpace(out.Bytes())
}

// opaqueMembers hold values of models, tools, providers and clients, in which even names can say something.
var opaqueMembers = []string{
	"input", "metadata", "providerMetadata", "structured", "usage", "schema", "value", "responseHeaders", "beside",
}

// keptMembers hold words of cairn and names of configuration.
var keptMembers = []string{
	"type", "kind", "status", "role", "agent", "variant", "tool", "finish", "effect", "action", "delivery", "phase",
	"reply", "by", "sandbox", "titledBy", "contract", "version", "recovery", "asks", "mode", "class", "slug",
}

// identifier is what ids look like. Members whose names end in ID, and id itself, keep such values.
var identifier = regexp.MustCompile(`^[A-Za-z0-9_.:-]+$`)

// maxIdentifier is the size of an id in bytes.
const maxIdentifier = 128

// sanitizeValue writes the value of the member name. isCall says that the object around it is the call of a tool.
func (e *Export) sanitizeValue(enc *jsontext.Encoder, name string, v jsontext.Value, isCall bool) error {
	isEmpty := len(v) == 2 && v.Kind() != '0' // "", {} and []
	isText := v.Kind() == '"' || v.Kind() == '{' || v.Kind() == '['
	if isEmpty || !isText {
		return enc.WriteValue(v)
	}
	if slices.Contains(opaqueMembers, name) {
		e.note(name, describeSize(v))
		return writeTokens(enc, jsontext.BeginObject, jsontext.String("redacted"), jsontext.String("[redacted:"+name+"]"),
			jsontext.EndObject)
	}
	if v.Kind() == '"' {
		return enc.WriteToken(jsontext.String(e.sanitizeText(name, v, isCall)))
	}
	return e.sanitizeMembers(enc, name, v)
}

// sanitizeMembers writes an object or a list.
func (e *Export) sanitizeMembers(enc *jsontext.Encoder, name string, v jsontext.Value) error {
	dec := jsontext.NewDecoder(bytes.NewReader(v), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	// Read the beginning: in an object the members have names, in a list that of the list.
	begin, err := dec.ReadToken()
	if err != nil {
		return err
	}
	isObject := begin.Kind() == '{'
	isCall := isObject && (bytes.Contains(v, []byte(`"callID":`)) || bytes.Contains(v, []byte(`"state":{"status":`)))
	if err := enc.WriteToken(begin); err != nil {
		return err
	}
	// Sanitise the members.
	for k := dec.PeekKind(); k != '}' && k != ']'; k = dec.PeekKind() {
		if isObject {
			t, err := dec.ReadToken()
			if err != nil {
				return err
			}
			name = t.String()
			if err := enc.WriteToken(t); err != nil {
				return err
			}
		}
		member, err := dec.ReadValue()
		if err != nil {
			return err
		}
		if err := e.sanitizeValue(enc, name, member.Clone(), isCall); err != nil {
			return err
		}
	}
	end, err := dec.ReadToken()
	if err != nil {
		return err
	}
	return enc.WriteToken(end)
}

// sanitizeText returns the text of a member, or what replaces it.
func (e *Export) sanitizeText(name string, v jsontext.Value, isCall bool) string {
	var text string
	if json.Unmarshal(v, &text, jsontext.AllowInvalidUTF8(true)) != nil {
		return "[redacted]"
	}
	isName := name == "id" || name == "model" || isCall && name == "name" || strings.HasSuffix(name, "ID") ||
		strings.HasSuffix(name, "IDs")
	if slices.Contains(keptMembers, name) && len(text) <= 100 && identifier.MatchString(text) ||
		isName && len(text) <= maxIdentifier && identifier.MatchString(text) || name == "mime" && opencode.IsPublicMediaType(text) {
		return text
	}
	e.note(name, text)
	return "[redacted:" + name + "]"
}
