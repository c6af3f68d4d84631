package session

import (
	"crypto/rand"
	"encoding/hex"
	"strings"
	"sync"
	"time"
)

// The identities. Each is a prefix, an underscore and a 26-character body: 12 hex digits of time and counter, 14
// random base-62 characters (seed 001 §6, spec/v1 §2). The 48 bits wrapped on 2026-08-14 and will again, so ids are
// never compared for order: order is Seq. Callers may bring their own ids; only the prefix is checked.
type (
	ID        string // ses_…
	MessageID string // msg_…
	PartID    string // prt_…
	EventID   string // evt_…
	AskID     string // per_… or que_…
	JobID     string // job_…
	ProjectID string // the root commit of the repository, or "global"
)

// Prefix is the kind letters of an id.
type Prefix string

// The prefixes (spec/v2 ID-2).
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
)

// MaxIDLength bounds ids that callers bring.
const MaxIDLength = 128

// IDs makes ids. The zero value is ready and uses the wall clock and the system's randomness; both can be replaced
// for reproducible tests. Safe for concurrent use.
type IDs struct {
	Now  func() time.Time
	Rand func(p []byte)

	mu   sync.Mutex // guards last
	last uint64     // milliseconds*4096 + counter of the newest id
}

// New returns a new id with the prefix. Ids of one IDs rise strictly within 2^36 ms, also when the clock stands still
// or steps back; session ids fall instead (newest first when listed by name).
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

// next is the guarded clock: never less than or equal to what it returned before.
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

// CheckID returns a CodeInvalid error naming field unless id may serve as an id with the prefix: the right letters,
// printable ASCII without space, at most MaxIDLength bytes (spec/v2 ID-3).
func CheckID(field string, p Prefix, id string) error {
	if !strings.HasPrefix(id, string(p)) {
		return Errorf(CodeInvalid, "%s must start with %q, got %q", field, p, clip(id, 40)).At(field)
	}
	if len(id) > MaxIDLength {
		return Errorf(CodeInvalid, "%s is %d bytes long, the limit is %d", field, len(id), MaxIDLength).At(field)
	}
	for _, c := range []byte(id) {
		if c <= ' ' || c > '~' || c == '/' || c == '\\' {
			return Errorf(CodeInvalid, "%s holds the character %q, which ids may not", field, c).At(field)
		}
	}
	return nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
