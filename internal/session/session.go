// Package session holds the words of a durable session: what it is, what is said in it, the facts of which its log
// consists, and the fold that says what those facts mean.
//
// The JSON tags here are a promise: they are the stored form and OpenCode's V2 wire form at once (spec/v2 §5, §7,
// §29.2), held by golden files. Unknown fields of stored objects survive a round trip in Extra.
//
// The package imports the standard library and the JSON module only.
package session

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Session is the durable identity of a conversation and the totals of what happened in it.
// Times are milliseconds since the Unix epoch.
type Session struct {
	ID        ID          `json:"id"`
	ParentID  ID          `json:"parentID,omitzero"`
	ProjectID ProjectID   `json:"projectID"`
	Agent     string      `json:"agent,omitzero"`
	Model     *ModelRef   `json:"model,omitzero"`
	Cost      USD         `json:"cost"`
	Tokens    Tokens      `json:"tokens"`
	Time      SessionTime `json:"time"`
	Title     string      `json:"title"`
	Location  Location    `json:"location"`
	Subpath   string      `json:"subpath,omitzero"` // the Location's path below its project root, with slashes
	Revert    *Revert     `json:"revert,omitzero"`

	Slug       string  `json:"slug,omitzero"`
	Version    string  `json:"version,omitzero"` // of the cairn that created it
	TitledBy   string  `json:"titledBy,omitzero"`
	Permission []Rule  `json:"permission,omitzero"` // the session's own rules, the highest layer but saved approvals
	Open       bool    `json:"open,omitzero"`       // what no rule of anybody decides is allowed, where else it is asked about
	Budget     *Budget `json:"budget,omitzero"`
	Todos      []Todo  `json:"todos,omitempty"` // what the model has set itself to do, in its order

	Metadata jsontext.Value `json:"metadata,omitzero"` // an object that clients keep with the session
	Changes  *Changes       `json:"changes,omitzero"`  // of its files, once a turn has begun

	Excluded []Exclusion `json:"excluded,omitempty"` // the newest of each kind and digest
	Edits    int         `json:"edits,omitzero"`     // how often what was said was changed afterwards

	Import *Import `json:"import,omitzero"` // nil: it was made here

	Jobs []Job `json:"jobs,omitzero"` // what runs, and ran lately, in the background

	Extra jsontext.Value `json:",embed"`
}

// Import says of a session that it was made elsewhere.
type Import struct {
	From     string         `json:"from"` // whose form it had
	Hash     string         `json:"hash"` // of all that was imported
	Messages int            `json:"messages"`
	Whole    bool           `json:"whole,omitzero"`  // all of them are here
	Info     jsontext.Value `json:"info,omitzero"`   // what was said of the session that has no word here
	Beside   jsontext.Value `json:"beside,omitzero"` // what stood beside the session and its messages
}

// Changes counts what a session has changed in its files.
type Changes struct {
	Additions int `json:"additions"` // lines
	Deletions int `json:"deletions"`
	Files     int `json:"files"`
}

// Path is the session's place below the top of its project, "" there, and outside of any repository below the root.
func (s *Session) Path() string {
	if s.Subpath != "" || !s.ProjectID.isOutside() {
		return s.Subpath
	}
	return strings.TrimPrefix(s.Location.Directory, "/")
}

// isOutside reports whether it is the project of what is in no repository.
func (p ProjectID) isOutside() bool { return p == "" || p == "global" }

// Tombstone is what is kept of a session that is deleted: which one it was and where, nothing that was said of it or in it.
func (s *Session) Tombstone() Session {
	return Session{
		ID: s.ID, ParentID: s.ParentID, ProjectID: s.ProjectID, Location: s.Location, Subpath: s.Subpath, Slug: s.Slug,
		Version: s.Version, Time: s.Time,
	}
}

// ApprovalScope is where saved approvals of the session hold: its project, or, outside of any repository, its directory
// alone. What was allowed in one folder is not allowed in all that belong to no project.
func (s *Session) ApprovalScope() ProjectID { return ApprovalScope(s.ProjectID, s.Location) }

// ApprovalScope is the scope of sessions of the project at the location.
func ApprovalScope(p ProjectID, l Location) ProjectID {
	if p.isOutside() {
		return ProjectID("directory:" + l.Directory)
	}
	return p
}

// SessionTime is when a session was created, last changed and archived.
type SessionTime struct {
	Created  int64 `json:"created"`
	Updated  int64 `json:"updated"`
	Archived int64 `json:"archived,omitzero"`
}

// Location is where a session's files live: an absolute directory and, where several machines share one store, the
// workspace that holds it.
type Location struct {
	Directory   string `json:"directory"`
	WorkspaceID string `json:"workspaceID,omitzero"`
}

// ModelRef names a model of a provider, and one of its variants.
type ModelRef struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	Variant    string `json:"variant,omitzero"`
}

// Equal reports whether both name the same model and variant; no variant is the variant "default".
func (m ModelRef) Equal(o ModelRef) bool {
	norm := func(v string) string {
		if v == "" {
			return "default"
		}
		return v
	}
	return m.ID == o.ID && m.ProviderID == o.ProviderID && norm(m.Variant) == norm(o.Variant)
}

// String returns provider/model.
func (m ModelRef) String() string { return m.ProviderID + "/" + m.ID }

// Tokens counts what a turn or a session used. Input excludes cached tokens, Output excludes reasoning (spec/v1 §31).
type Tokens struct {
	Input     int64      `json:"input"`
	Output    int64      `json:"output"`
	Reasoning int64      `json:"reasoning"`
	Cache     CacheUsage `json:"cache"`
	Total     int64      `json:"total,omitzero"` // as the provider says it; absent if it does not
}

// CacheUsage counts tokens read from and written to the provider's prompt cache.
type CacheUsage struct {
	Read  int64 `json:"read"`
	Write int64 `json:"write"`
}

// Add returns the sum of both, field by field.
func (t Tokens) Add(o Tokens) Tokens {
	return Tokens{
		Input: t.Input + o.Input, Output: t.Output + o.Output, Reasoning: t.Reasoning + o.Reasoning,
		Cache: CacheUsage{Read: t.Cache.Read + o.Cache.Read, Write: t.Cache.Write + o.Cache.Write},
	}
}

// Sum is the number of all tokens, each counted once.
func (t Tokens) Sum() int64 { return t.Input + t.Output + t.Reasoning + t.Cache.Read + t.Cache.Write }

// Budget limits what a session may spend before it pauses and asks. Zero fields are unlimited.
type Budget struct {
	USD    USD   `json:"usd,omitzero"`
	Tokens int64 `json:"tokens,omitzero"`
	Wall   int64 `json:"wall,omitzero"`  // milliseconds of work, counted per prompt
	Turns  int   `json:"turns,omitzero"` // provider turns per prompt; 0 is the engine's cap
}

// WithDefaults returns the limits of b, and where it has none those of otherwise; nil is no budget.
func (b *Budget) WithDefaults(otherwise *Budget) *Budget {
	if b == nil || otherwise == nil {
		return cmp.Or(b, otherwise)
	}
	return &Budget{
		USD: cmp.Or(b.USD, otherwise.USD), Tokens: cmp.Or(b.Tokens, otherwise.Tokens), Wall: cmp.Or(b.Wall, otherwise.Wall), Turns: cmp.Or(b.Turns, otherwise.Turns),
	}
}

// Check returns a CodeInvalid error that names the limit, in field, which is below zero; nil is no budget.
func (b *Budget) Check(field string) error {
	if b == nil {
		return nil
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{{"usd", int64(b.USD)}, {"tokens", b.Tokens}, {"wall", b.Wall}, {"turns", int64(b.Turns)}} {
		if limit.value < 0 {
			return Errorf(CodeInvalid, "the limit %s is below zero; leave it away for none", limit.name).At(field + "." + limit.name)
		}
	}
	return nil
}

// Revert is the state of a staged revert (spec/v2 §26).
type Revert struct {
	MessageID MessageID      `json:"messageID"`
	Extra     jsontext.Value `json:",embed"`
}

// Rule allows, denies or asks for an action on the resources that match. Both patterns are wildcards (spec/v2 PM-1).
type Rule struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Effect   Effect `json:"effect"`
}

// CheckRules returns a CodeInvalid error that names, in field, what would make a rule guard nothing.
func CheckRules(field string, rules []Rule) error {
	for i, r := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case r.Action == "":
			return Errorf(CodeInvalid, "rule %d names no action", i+1).At(at + ".action")
		case r.Resource == "":
			return Errorf(CodeInvalid, "rule %d names no resource; * is any", i+1).At(at + ".resource")
		case r.Effect != Allow && r.Effect != Deny && r.Effect != Ask:
			return Errorf(CodeInvalid, "the effect of rule %d must be allow, deny or ask, got %q", i+1, clip(string(r.Effect), 40)).At(at + ".effect")
		}
	}
	return nil
}

// Effect is the outcome of a rule.
type Effect string

// The effects.
const (
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)
