// Package opencode is OpenCode's V1 data model as a view: sessions, messages with their twelve kinds of parts, asks and bus
// events, made of our words by pure functions. Nothing is stored for it, and nothing here is decided: what an event means
// is said in package session, whose folds this package uses.
//
//   - Render makes messages of stored ones.
//   - A Fold makes bus events of the log's, in the order in which OpenCode sends them, and live deltas of fragments.
//   - A PromptInput is what a client sends, as a prompt of ours.
//
// The ids of parts are those of our items; older records that lack one get a name made of their message's.
package opencode

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Tokens counts what was used. Total is there only where a provider names it.
type Tokens struct {
	Total     int64              `json:"total,omitzero"`
	Input     int64              `json:"input"`
	Output    int64              `json:"output"`
	Reasoning int64              `json:"reasoning"`
	Cache     session.CacheUsage `json:"cache"`
}

func tokensOf(t session.Tokens) Tokens {
	if t.Total == 0 { // not every provider counts them itself
		t.Total = t.Sum()
	}
	return Tokens{Total: t.Total, Input: t.Input, Output: t.Output, Reasoning: t.Reasoning, Cache: t.Cache}
}

// named is the id of a part that our record does not name: the n-th of its message.
func named(id session.PartID, m session.MessageID, n int) session.PartID {
	if id != "" {
		return id
	}
	return derived(string(m), n)
}

// derived is the id of the n-th part of what has no names for its parts: as long as every id, of the same time, and always
// the same.
func derived(id string, n int) session.PartID {
	_, body, _ := strings.Cut(id, "_")
	sum := sha256.Sum256([]byte(id + "/" + strconv.Itoa(n)))
	tail := hex.EncodeToString(sum[:])[:min(len(body), madeUp)]
	return session.PartID(string(session.PrefixPart) + "_" + body[:len(body)-len(tail)] + tail)
}

// madeUp is how many of an id's last characters are random.
const madeUp = 14

var emptyObject = jsontext.Value(`{}`)

// objectOr is the value if it is an object with members, else def.
func objectOr(v, def jsontext.Value) jsontext.Value {
	if v.Kind() != '{' || string(v) == "{}" {
		return def
	}
	return v
}
