package opencodev1

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/transfer/foreign"
)

// Limits in bytes. The server accepts messages of 12 MiB.
const (
	maxMessage = 11 << 20
	maxFile    = 10 << 20 // of a data: URI
)

// part is a part of a message that is being converted.
type part struct {
	name  string // for a problem
	value foreign.Object
}

// Add converts the next message. What cannot be read of it is a problem: a member, a part, or all of it.
func (b *Builder) Add(m Message) {
	b.session.Rows += 1 + len(m.Parts)
	info, reason := m.object()
	if reason == "" {
		info, reason = b.checkHead(m.ID, info)
	}
	if reason != "" {
		if n := len(m.Parts); n > 0 {
			reason += fmt.Sprintf("; its parts are left out too, which are %d", n)
		}
		b.Problem(m.Name, "", reason)
		return
	}
	// The oldest versions store the parts within the message.
	parts := b.readParts(m)
	if info.Has("metadata") && info["parts"].Kind() == '[' {
		info, parts = upgradeInline(info, b.session.ID, m.Name)
	}
	if len(parts) == 0 {
		b.empty++
	}
	// Give it what OpenCode's current form requires. Only if that is not enough, look for what does not have this form.
	info = b.addDefaults(info, parts)
	if isNothing(info, parts) {
		if len(m.Parts) > 0 {
			b.Problem(m.Name, "", "none of its parts can be read")
		}
		return
	}
	if b.addReadable(info, parts) {
		return
	}
	if info, parts = b.keepReadable(m.Name, info, parts); info != nil && !isNothing(info, parts) {
		b.addReadable(info, parts)
	}
}

// addReadable adds the message, and reports whether all of it can be read and it fits.
func (b *Builder) addReadable(info foreign.Object, parts []part) bool {
	raw := encodeMessage(info, parts)
	if checkSize(raw) != nil {
		return false
	}
	ms, err := b.messages.Add(raw)
	b.take(ms)
	return err == nil
}

// isNothing reports whether a message says nothing: a prompt without parts, or a turn that ended without parts and
// without an error.
func isNothing(info foreign.Object, parts []part) bool {
	return len(parts) == 0 && (info.Text("role") == "user" || info.Object("time").Has("completed") && !info.Has("error"))
}

// checkHead gives the message its id, which must be valid and new.
func (b *Builder) checkHead(id string, info foreign.Object) (foreign.Object, string) {
	if id == "" {
		id = info.Text("id")
	}
	if foreign.CheckID(session.PrefixMessage, id) != nil {
		return nil, "its id is not valid"
	}
	if b.seen[session.MessageID(id)] {
		return nil, "another message has the same id"
	}
	b.seen[session.MessageID(id)] = true
	if role := info.Text("role"); role != "user" && role != "assistant" {
		return nil, "it is neither a prompt nor an answer"
	}
	info = info.With("id", foreign.Quote(id))
	return info.With("sessionID", foreign.Quote(b.session.ID)), ""
}

// readParts parses the parts.
func (b *Builder) readParts(m Message) []part {
	var out []part
	for _, row := range m.Parts {
		o, reason := row.object()
		if reason == "" && row.ID != "" {
			o["id"] = foreign.Quote(row.ID)
		}
		switch {
		case reason != "":
		case foreign.CheckID(session.PrefixPart, o.Text("id")) != nil:
			reason = "its id is not valid"
		case o.Text("type") == "file" && len(o["url"]) > maxFile:
			reason = fmt.Sprintf("it is larger than %d MiB", maxFile>>20)
		}
		if reason != "" {
			b.Problem(row.Name, "", reason)
			continue
		}
		id := m.ID
		if id == "" {
			id = o.Text("messageID")
		}
		o["sessionID"], o["messageID"] = foreign.Quote(b.session.ID), foreign.Quote(id)
		out = append(out, part{row.Name, o})
	}
	return out
}

// keepReadable leaves out what OpenCode does not write: members of the message, and whole parts. It returns nil if
// nothing remains.
func (b *Builder) keepReadable(row string, info foreign.Object, parts []part) (foreign.Object, []part) {
	if convertMessage(info, parts) == nil {
		return b.fit(row, info, parts)
	}
	defaults := foreign.Object{"id": info["id"], "sessionID": info["sessionID"], "role": info["role"]}
	defaults = b.addDefaults(defaults, nil)
	valid, refused := keepValid(info, defaults, func(o foreign.Object) error { return convertMessage(o, nil) })
	for _, name := range refused {
		b.Problem(row, name, notOpenCode)
	}
	parts = slices.DeleteFunc(parts, func(p part) bool {
		if convertMessage(valid, []part{p}) == nil {
			return false
		}
		b.Problem(p.name, "", notOpenCode)
		return true
	})
	if convertMessage(valid, parts) != nil {
		b.Problem(row, "", notOpenCode)
		return nil, nil
	}
	return b.fit(row, valid, parts)
}

var errTooLarge = errors.New("the message is too large")

// convertMessage returns an error if the message cannot be converted.
func convertMessage(info foreign.Object, parts []part) error {
	_, err := opencode.MessageFromOpenCode(encodeMessage(info, parts))
	return err
}

// checkSize returns an error if the message is too large to be imported. It is stored with its original form, so that
// it may need twice its size.
func checkSize(raw jsontext.Value) error {
	if len(raw) < maxMessage/3 {
		return nil
	}
	m, err := opencode.MessageFromOpenCode(raw)
	if err != nil {
		return err
	}
	stored, err := json.Marshal(m)
	if err == nil && len(stored) > maxMessage {
		err = errTooLarge
	}
	return err
}

// fit leaves out what is largest until the message fits: the texts of changed files, then parts.
func (b *Builder) fit(row string, info foreign.Object, parts []part) (foreign.Object, []part) {
	for checkSize(encodeMessage(info, parts)) != nil {
		if summary := info.Object("summary"); summary.Has("diffs") {
			b.Problem(row, "summary.diffs", "the message is larger than 11 MiB with it")
			info = info.With("summary", jsontext.Value(`{"diffs":[]}`))
			if checkSize(encodeMessage(info, parts)) == nil {
				break
			}
			info = info.With("summary", jsontext.Value("null"))
			delete(info, "summary")
		}
		if len(parts) == 0 {
			b.Problem(row, "", "it is larger than 11 MiB")
			return nil, nil
		}
		largest := 0
		for i, p := range parts {
			if len(p.value.Value()) > len(parts[largest].value.Value()) {
				largest = i
			}
		}
		b.Problem(parts[largest].name, "", "the message is larger than 11 MiB with it")
		parts = slices.Delete(slices.Clone(parts), largest, largest+1)
	}
	return info, parts
}

// encodeMessage returns the message as an export has it.
func encodeMessage(info foreign.Object, parts []part) jsontext.Value {
	// Nearly all sources are strictly valid: one look at the whole message then replaces one at each value.
	if fast := joinMessage(info, parts, appendObject); fast.IsValid() {
		if bytes.IndexByte(fast, '\n') >= 0 { // a file is indented
			_ = fast.Compact() // it is valid
		}
		return fast
	}
	return joinMessage(info, parts, func(b []byte, o foreign.Object) []byte { return append(b, o.Value()...) })
}

func joinMessage(info foreign.Object, parts []part, add func([]byte, foreign.Object) []byte) jsontext.Value {
	out := append(add([]byte(`{"info":`), info), `,"parts":[`...)
	for i, p := range parts {
		if i > 0 {
			out = append(out, ',')
		}
		out = add(out, p.value)
	}
	return append(out, "]}"...)
}

// appendObject appends the members as they are, which need not be valid.
func appendObject(b []byte, o foreign.Object) []byte {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(o)) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(b, foreign.Quote(name)...), ':')
		b = append(b, o[name]...)
	}
	return append(b, '}')
}
