// Package opencode is OpenCode's V1 data model as a view over package session: sessions, messages with their twelve
// kinds of parts, asks and bus events. All functions are pure; nothing is stored. The meaning of events is defined in
// package session, whose folds this package uses.
//
//   - Render converts stored messages.
//   - A Fold converts the log's events to bus events in OpenCode's order, and fragments to live deltas.
//   - PromptInput is a client's prompt and converts to a session.Prompt.
//   - FromOpenCode and ToOpenCode convert whole sessions for import and export.
//
// Part ids are the ids of session items; older records without ids get ids derived from their message.
package opencode

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Tokens is the usage of a step. Total is absent if the provider does not report it.
type Tokens struct {
	Total     int64              `json:"total,omitzero"`
	Input     int64              `json:"input"`
	Output    int64              `json:"output"`
	Reasoning int64              `json:"reasoning"`
	Cache     session.CacheUsage `json:"cache"`
}

func tokensOf(t session.Tokens) Tokens {
	if t.Total == 0 { // not every provider reports the total
		t.Total = t.Sum()
	}
	return Tokens{Total: t.Total, Input: t.Input, Output: t.Output, Reasoning: t.Reasoning, Cache: t.Cache}
}

// partIDOr returns id, or a derived id for the n-th part of the message if id is empty.
func partIDOr(id session.PartID, m session.MessageID, n int) session.PartID {
	if id != "" {
		return id
	}
	return derivePartID(string(m), n)
}

// derivePartID derives a stable id for the n-th part of the record id. It has the length and time of the record's id.
func derivePartID(id string, n int) session.PartID {
	_, body, _ := strings.Cut(id, "_")
	sum := sha256.Sum256([]byte(id + "/" + strconv.Itoa(n)))
	tail := hex.EncodeToString(sum[:])[:min(len(body), randomChars)]
	return session.PartID(string(session.PrefixPart) + "_" + body[:len(body)-len(tail)] + tail)
}

// randomChars is the number of random characters at the end of an id.
const randomChars = 14

var emptyObject = jsontext.Value(`{}`)

// objectOr returns v if it is an object with members, else def.
func objectOr(v, def jsontext.Value) jsontext.Value {
	if v.Kind() != '{' || string(v) == "{}" {
		return def
	}
	return v
}

// partIDAfter returns the next id of the same length in the order of bytes, by which OpenCode's clients sort the parts
// of a message. An id that has none gets one more character.
func partIDAfter(id session.PartID) session.PartID {
	b := []byte(id)
	for n := len(b) - 1; n >= 0 && b[n] != '_'; n-- {
		switch c := b[n]; {
		case c == '9':
			b[n] = 'A'
		case c == 'Z':
			b[n] = 'a'
		case c == 'z':
			b[n] = '0'
			continue
		default:
			b[n]++
		}
		return session.PartID(b)
	}
	return id + "0"
}
