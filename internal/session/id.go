package session

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// The ids. Each is a prefix, an underscore and a 26-character body: 12 hex digits of time and counter, then 14 random
// base-62 characters. The 48 bits wrapped on 2026-08-14 and will wrap again, so ids are never compared for order: the
// order is Seq. Callers may choose ids; only prefix, length and characters are checked (CheckID).
type (
	ID        string // ses_…
	MessageID string // msg_…
	PartID    string // prt_…
	EventID   string // evt_…
	AskID     string // per_… or que_…
	JobID     string // job_…
	ProjectID string // what OpenCode calls the project: see package project
	RecordID  string // prj_…: the record of a project
)

// Prefix is the part of an id that names its kind.
type Prefix string

// The prefixes (ID-2).
const (
	PrefixSession    Prefix = "ses"
	PrefixMessage    Prefix = "msg"
	PrefixPart       Prefix = "prt"
	PrefixEvent      Prefix = "evt"
	PrefixPermission Prefix = "per"
	PrefixSaved      Prefix = "psv"
	PrefixQuestion   Prefix = "que"
	PrefixTool       Prefix = "tool"
	PrefixJob        Prefix = "job"
	PrefixRecord     Prefix = "prj"
)

// MaxIDLength is the maximum length of an id that a caller chooses.
const MaxIDLength = 128

// IDs generates ids. The zero value is ready for use, with the wall clock and the system's randomness; tests
// replace both for reproducible ids. It is safe for concurrent use.
type IDs struct {
	Now  func() time.Time
	Rand func(p []byte)

	mu   sync.Mutex // guards last
	last uint64     // milliseconds*4096 + counter of the newest id
}

// New returns a new id with the prefix. The ids of one IDs increase strictly within 2^36 ms, even if the clock stops or
// steps back; session ids decrease instead, so that a listing by name starts with the newest.
func (g *IDs) New(p Prefix) string {
	v := g.next()
	if p == PrefixSession {
		v = ^v
	}
	var body [26]byte
	var be [6]byte
	for i := range be {
		be[i] = byte(v >> (40 - 8*i))
	}
	hex.Encode(body[:12], be[:])
	random := body[12:]
	g.fillRandom(random)
	for i, b := range random {
		random[i] = base62[int(b)%len(base62)]
	}
	return string(p) + "_" + string(body[:])
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// next returns the time with a counter, always more than the value before.
func (g *IDs) next() uint64 {
	now := time.Now
	if g.Now != nil {
		now = g.Now
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	v := uint64(now().UnixMilli())*4096 + 1
	if v <= g.last {
		v = g.last + 1
	}
	g.last = v
	return v
}

func (g *IDs) fillRandom(p []byte) {
	if g.Rand != nil {
		g.Rand(p)
		return
	}
	rand.Read(p) // never fails: crypto/rand
}

// CheckID returns a CodeInvalid error that names the field unless the id is valid: it starts with the prefix, is
// printable ASCII without space and slashes, and has at most MaxIDLength bytes (ID-3).
func CheckID(field string, p Prefix, id string) error {
	if !strings.HasPrefix(id, string(p)) {
		return Errorf(CodeInvalid, "%s must start with %q, got %q", field, p, ClipText(id, 40)).At(field)
	}
	if len(id) > MaxIDLength {
		return Errorf(CodeInvalid, "%s is %d bytes long, the limit is %d", field, len(id), MaxIDLength).At(field)
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '/' || c == '\\' {
			return Errorf(CodeInvalid, "%s contains the character %q, which is not allowed in ids", field, c).At(field)
		}
	}
	return nil
}

// ClipText returns the first n bytes of s, without a character that is cut in two, and an ellipsis if s is longer. It
// is for messages that repeat what a client sent.
func ClipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
