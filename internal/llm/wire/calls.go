package wire

import (
	"encoding/base32"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// What one answer may hold.
const (
	MaxCalls     = 256
	MaxArguments = 8 << 20 // bytes of one call's arguments
	MaxName      = 256     // bytes of a tool's name, and of an id that is taken over
)

// IDs are the call ids of one answer. The zero value is an answer without calls.
type IDs struct{ used map[string]bool }

// Unique returns sent if no other call of the answer bears it and it is not too long, else an id made from answer, the
// answer's own id, so that it does not meet those of earlier turns either.
func (s *IDs) Unique(sent, answer string) string {
	if s.used == nil {
		s.used = map[string]bool{}
	}
	id := sent
	for n := len(s.used); id == "" || len(id) > MaxName || s.used[id]; n++ {
		id = fmt.Sprintf("call_%s_%d", Digest(answer + "\x00" + sent)[:8], n)
	}
	s.used[id] = true
	return id
}

// Arguments returns the input of a call, or what is wrong with its text. No text means no arguments.
func Arguments(raw string) (input jsontext.Value, wrong string) {
	v := jsontext.Value(strings.TrimSpace(raw))
	if len(v) == 0 || string(v) == "null" {
		return jsontext.Value("{}"), ""
	}
	if v.Kind() == '"' && v.IsValid() {
		if inner := jsontext.Value(Plain(v)); inner.Kind() == '{' && inner.IsValid() {
			return inner, ""
		}
	}
	if err := v.Compact(); err != nil {
		return nil, "the arguments are not valid JSON: " + jsonReason(err)
	}
	if v.Kind() != '{' {
		return nil, "the arguments must be a JSON object"
	}
	return jsontext.Value(raw), ""
}

// jsonReason says what a JSON parser objected to, without the parser's name.
func jsonReason(err error) string {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fmt.Sprintf("%v at byte %d", e.Err, e.ByteOffset)
	}
	return err.Error()
}

// Input returns a recorded call's input as it may be sent: an object, or an empty one in the place of what is none.
func Input(v jsontext.Value) jsontext.Value {
	if v.Kind() != '{' || !v.IsValid(Foreign) {
		return jsontext.Value("{}")
	}
	return v
}

// IsWord reports whether s is not empty and all letters, digits and characters of more.
func IsWord(s, more string) bool {
	for _, r := range s {
		ok := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(more, r)
		if !ok {
			return false
		}
	}
	return s != ""
}

// Digest is a short stable name for s: 13 lower-case letters and digits.
func Digest(s string) string {
	h := fnv.New64a()
	h.Write([]byte(s))
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)))
}

// maxWire bounds ids of calls and names of tools in a request: it is what the strictest vendor takes.
const maxWire = 64

// ShortID returns a call's id as vendors take it: what is empty or too long becomes a digest. Equal ids stay equal and
// different ones different.
func ShortID(id string) string {
	if id == "" || len(id) > maxWire {
		return "call_" + Digest(id)
	}
	return id
}

// ToolName returns a tool's name as all vendors take it. One of a history may be anything that a model made up, and a
// request that repeats it is refused, with each that follows. Equal names stay equal and different ones different.
func ToolName(name string) string {
	if !IsWord(name, "_-") || len(name) > maxWire || !IsWord(name[:1], "_") || name[0] >= '0' && name[0] <= '9' {
		return "tool_" + Digest(name)
	}
	return name
}
