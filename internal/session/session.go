// Package session is the vocabulary of a durable session: the session itself, its messages, the events of its log, and
// the folds that define what an event means (apply.go). What a session has left to do follows from it and is decided in
// next.go.
//
// The JSON tags are a promise: they are the stored form and OpenCode's V2 wire form at once, held by golden files.
// Unknown fields of stored objects survive a round trip in Extra.
//
// The package imports the standard library and the JSON module only.
package session

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Session is the durable identity of a conversation, with its settings and totals.
// Times are milliseconds since the Unix epoch.
type Session struct {
	ID        ID        `json:"id"`
	ParentID  ID        `json:"parentID,omitzero"`
	ProjectID ProjectID `json:"projectID"`
	// RecordID is the record of the project, "" without one. The log only says which one the session began with or moved
	// to: the store has the present one, because a user can delete a record and bind another one to its directory.
	RecordID RecordID      `json:"recordID,omitzero"`
	Agent    string        `json:"agent,omitzero"`
	Model    *ModelRef     `json:"model,omitzero"`
	Cost     USD           `json:"cost"`
	Tokens   Tokens        `json:"tokens"`
	Time     SessionTime   `json:"time"`
	Title    string        `json:"title"`
	Summary  *ProseSummary `json:"summary,omitzero"`
	Location Location      `json:"location"`
	Subpath  string        `json:"subpath,omitzero"` // the Location's path below its project root, with slashes
	Revert   *Revert       `json:"revert,omitzero"`

	Tags []string `json:"tags,omitempty"` // of users, sorted, each once

	Slug       string      `json:"slug,omitzero"`
	Version    string      `json:"version,omitzero"` // of the cairn that created it
	TitledBy   string      `json:"titledBy,omitzero"`
	Permission []Rule      `json:"permission,omitzero"` // own rules; only saved approvals rank higher
	Open       bool        `json:"open,omitzero"`       // actions without a rule are allowed, not asked about
	Contract   string      `json:"contract,omitzero"`   // ContractV2 of an open session that was created over V2
	Budget     *Budget     `json:"budget,omitzero"`
	Sandbox    SandboxMode `json:"sandbox,omitzero"`  // at least; whatever process runs the session
	Timezone   TimeZone    `json:"timezone,omitzero"` // of the date; "" is the configured one
	// Ephemeral is set if the session is deleted when the command that created it ends. Its subagents have it, too.
	Ephemeral bool   `json:"ephemeral,omitzero"`
	Todos     []Todo `json:"todos,omitempty"` // the model's todo list

	Metadata jsontext.Value `json:"metadata,omitzero"` // an object of the client
	Changes  *Changes       `json:"changes,omitzero"`  // to files; set once a turn has begun

	Excluded []Exclusion `json:"excluded,omitempty"` // the newest of each kind and digest
	Edits    int         `json:"edits,omitzero"`     // number of changes to what the model sees of earlier messages

	Compacting *CompactionStarted `json:"compacting,omitzero"` // the compaction under way
	Stalled    int                `json:"stalled,omitzero"`    // compactions in a row that achieved nothing

	Import *Import `json:"import,omitzero"` // nil unless imported
	Fork   *Fork   `json:"fork,omitzero"`   // nil unless it is a copy

	Share *Share `json:"share,omitzero"` // nil unless it is shared

	Jobs []Job `json:"jobs,omitzero"` // running and recent background jobs

	Nested  []NestedInstruction `json:"nested,omitempty"`  // instruction files below the location, as discovered
	Entries []ContextEntry      `json:"entries,omitempty"` // of clients for the system context, sorted by key

	Extra jsontext.Value `json:",embed"`
}

// HasNested reports whether the session has discovered the instruction file.
func (s *Session) HasNested(path string) bool {
	return slices.ContainsFunc(s.Nested, func(n NestedInstruction) bool { return n.Path == path })
}

// HasOwnSummary reports whether a user has written the session's summary.
func (s *Session) HasOwnSummary() bool { return s.Summary != nil && !s.Summary.Generated }

// FindEntry returns the position of the context entry with the key, or where it would be.
func (s *Session) FindEntry(key string) (at int, found bool) {
	return slices.BinarySearchFunc(s.Entries, key, func(have ContextEntry, key string) int {
		return cmp.Compare(have.Key, key)
	})
}

// ContractV2 is the contract of open sessions that OpenCode's clients create over V2. Those of V1 name none.
const ContractV2 = "v2"

// RemoveGrants removes from s what lets work run without asks: its openness and its rules that allow.
func (s *Session) RemoveGrants() {
	s.Open = false
	s.Permission = slices.DeleteFunc(slices.Clone(s.Permission), func(r Rule) bool { return r.Effect == Allow })
}

// IsOfV1 reports whether an OpenCode client created the session over V1.
func (s *Session) IsOfV1() bool { return s.Open && s.Contract == "" }

// Import describes the source of an imported session.
type Import struct {
	From     string         `json:"from"` // source format
	Hash     string         `json:"hash"` // of the imported data
	Messages int            `json:"messages"`
	Whole    bool           `json:"whole,omitzero"`  // the import is complete
	Info     jsontext.Value `json:"info,omitzero"`   // session fields without a counterpart in Session
	Beside   jsontext.Value `json:"beside,omitzero"` // data beside the session and its messages
}

// Fork says which session a session was copied from, and how far.
type Fork struct {
	From ID `json:"from"`
	Root ID `json:"root,omitzero"` // of forks of a fork: the session that the first one was copied from
	// Before is the first message that was not copied, or of which only the parts before PartID were; "" if all were.
	Before MessageID `json:"before,omitzero"`
	PartID PartID    `json:"partID,omitzero"`
}

// Share says where a session is shared. Anyone with the address can read the session.
type Share struct {
	URL     string `json:"url"`
	Expires int64  `json:"expires,omitzero"` // in milliseconds; 0 if it does not end by itself
}

// Path returns the session's directory relative to its project, "" for the project's root. Outside of a repository
// it is relative to the file system's root.
func (s *Session) Path() string {
	if s.Subpath != "" || !s.ProjectID.isOutside() {
		return s.Subpath
	}
	return strings.TrimPrefix(s.Location.Directory, "/")
}

// ResolveFile returns the absolute path of a file that a record names relative to the worktree.
func (s *Session) ResolveFile(name string) string {
	if path.IsAbs(name) {
		return name
	}
	return path.Join(strings.TrimSuffix(s.Location.Directory, s.Subpath), name)
}

// isOutside reports whether the id is the project of directories outside of a repository.
func (p ProjectID) isOutside() bool { return p == "" || p == "global" }

// IsSame reports whether two ids are of one project. Directories outside of repositories belong to none.
func (p ProjectID) IsSame(other ProjectID) bool { return p == other && !p.isOutside() }

// Tombstone returns the fields that are kept of a deleted session: its identity and location, no content.
func (s *Session) Tombstone() Session {
	return Session{
		ID: s.ID, ParentID: s.ParentID, ProjectID: s.ProjectID, RecordID: s.RecordID, Location: s.Location,
		Subpath: s.Subpath, Slug: s.Slug, Version: s.Version, Time: s.Time,
	}
}

// SessionTime holds when a session was created, last changed and archived.
type SessionTime struct {
	Created  int64 `json:"created"`
	Updated  int64 `json:"updated"`
	Archived int64 `json:"archived,omitzero"`
}

// Location is the absolute directory of a session's files, and the workspace that holds it if several machines
// share one store.
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

// Equal reports whether both name the same model and variant; "" is the variant "default".
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

// Tokens counts the tokens of a turn or a session. Input excludes cached tokens, Output excludes reasoning.
type Tokens struct {
	Input     int64      `json:"input"`
	Output    int64      `json:"output"`
	Reasoning int64      `json:"reasoning"`
	Cache     CacheUsage `json:"cache"`
	Total     int64      `json:"total,omitzero"` // the provider's own total, if it reports one

	Unpriced int64 `json:"unpriced,omitzero"` // how many of them are not part of the cost, since their price is unknown
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
		Cache:    CacheUsage{Read: t.Cache.Read + o.Cache.Read, Write: t.Cache.Write + o.Cache.Write},
		Unpriced: t.Unpriced + o.Unpriced,
	}
}

// Sum returns the number of all tokens, each counted once.
func (t Tokens) Sum() int64 { return t.Input + t.Output + t.Reasoning + t.Cache.Read + t.Cache.Write }

// Budget limits the spending of a session: at a limit it pauses and asks. Zero fields are unlimited.
type Budget struct {
	USD    USD   `json:"usd,omitzero"`
	Tokens int64 `json:"tokens,omitzero"`
	Wall   int64 `json:"wall,omitzero"`  // milliseconds of work, counted per prompt
	Turns  int   `json:"turns,omitzero"` // provider turns per prompt; 0 is the engine's cap
}

// RefusesUnknownMembers makes requests fail that misspell a limit: ignoring the member would lift the limit.
func (Budget) RefusesUnknownMembers() {}

// WithDefaults returns the limits of b, completed by those of otherwise; nil is no budget.
func (b *Budget) WithDefaults(otherwise *Budget) *Budget {
	if b == nil || otherwise == nil {
		return cmp.Or(b, otherwise)
	}
	return &Budget{
		USD: cmp.Or(b.USD, otherwise.USD), Tokens: cmp.Or(
			b.Tokens, otherwise.Tokens,
		), Wall: cmp.Or(b.Wall, otherwise.Wall), Turns: cmp.Or(b.Turns, otherwise.Turns),
	}
}

// Check returns a CodeInvalid error for a negative limit, with its place below field; nil is no budget.
func (b *Budget) Check(field string) error {
	if b == nil {
		return nil
	}
	for _, limit := range []struct {
		name  string
		value int64
	}{{"usd", int64(b.USD)}, {"tokens", b.Tokens}, {"wall", b.Wall}, {"turns", int64(b.Turns)}} {
		if limit.value < 0 {
			return Errorf(
				CodeInvalid, "the limit %s is negative; omit it for no limit", limit.name,
			).At(field + "." + limit.name)
		}
	}
	return nil
}

// Rule allows, denies or asks for an action on matching resources. Action and Resource are wildcard patterns (PM-1).
type Rule struct {
	Action   string `json:"action"`
	Resource string `json:"resource"`
	Effect   Effect `json:"effect"`
}

// CheckRules returns a CodeInvalid error, with its place below field, for a rule that could never match.
func CheckRules(field string, rules []Rule) error {
	for i, r := range rules {
		at := fmt.Sprintf("%s[%d]", field, i)
		switch {
		case r.Action == "":
			return Errorf(CodeInvalid, "rule %d has no action", i+1).At(at + ".action")
		case r.Resource == "":
			return Errorf(CodeInvalid, "rule %d has no resource; use * for any", i+1).At(at + ".resource")
		case r.Effect != Allow && r.Effect != Deny && r.Effect != Ask:
			return Errorf(
				CodeInvalid, "the effect of rule %d must be allow, deny or ask, got %q", i+1,
				ClipText(string(r.Effect), 40),
			).At(at + ".effect")
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
