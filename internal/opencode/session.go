package opencode

import (
	"cmp"
	"errors"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Session is OpenCode's Session.Info.
type Session struct {
	ID         session.ID        `json:"id"`
	Slug       string            `json:"slug"`
	ProjectID  session.ProjectID `json:"projectID"`
	Workspace  string            `json:"workspaceID,omitzero"`
	Directory  string            `json:"directory"`
	Path       *string           `json:"path,omitzero"` // directory relative to the project's root, or to /
	ParentID   session.ID        `json:"parentID,omitzero"`
	Summary    *Summary          `json:"summary,omitzero"`
	Share      *SessionShare     `json:"share,omitzero"`
	Cost       session.USD       `json:"cost"`
	Tokens     Tokens            `json:"tokens"`
	Title      string            `json:"title"`
	Agent      string            `json:"agent,omitzero"`
	Model      *SessionModel     `json:"model,omitzero"`
	Version    string            `json:"version"`
	Metadata   jsontext.Value    `json:"metadata,omitzero"`
	Time       SessionTime       `json:"time"`
	Permission []Rule            `json:"permission,omitempty"`
	Revert     *Revert           `json:"revert,omitzero"`
}

// SessionShare says where a session is shared.
type SessionShare struct {
	URL string `json:"url"`
}

// Summary counts changes in files.
type Summary struct {
	Additions int        `json:"additions"`
	Deletions int        `json:"deletions"`
	Files     int        `json:"files"`
	Diffs     []FileDiff `json:"diffs,omitempty"`
}

// FileDiff is the change of one file.
type FileDiff struct {
	File      string `json:"file,omitzero"`
	Patch     string `json:"patch,omitzero"`
	Additions int    `json:"additions"`
	Deletions int    `json:"deletions"`
	Status    string `json:"status,omitzero" enum:"added,deleted,modified"`
}

// SessionModel is the model of a session. In messages it is a Model.
type SessionModel struct {
	ID         string `json:"id"`
	ProviderID string `json:"providerID"`
	Variant    string `json:"variant"`
}

// SessionTime has the times of creation, last change and archiving, and since when a summary is being written.
type SessionTime struct {
	Created    int64 `json:"created"`
	Updated    int64 `json:"updated"`
	Compacting int64 `json:"compacting,omitzero"`
	Archived   int64 `json:"archived,omitzero"`
}

// Rule is a permission rule.
type Rule struct {
	Permission string         `json:"permission"`
	Pattern    string         `json:"pattern"`
	Action     session.Effect `json:"action"`
}

// Revert is a staged revert.
type Revert struct {
	MessageID session.MessageID `json:"messageID"`
	PartID    session.PartID    `json:"partID,omitzero"`
	Snapshot  string            `json:"snapshot,omitzero"`
	Diff      string            `json:"diff"`
}

// SessionOf converts a session.
func SessionOf(s *session.Session) Session {
	path := s.Path()
	v := Session{
		ID: s.ID, Slug: s.Slug, ProjectID: s.ProjectID, Workspace: s.Location.WorkspaceID, Directory: s.Location.Directory,
		Path: &path, ParentID: s.ParentID, Cost: s.Cost, Tokens: tokensOf(s.Tokens), Title: s.Title, Agent: s.Agent,
		Version: s.Version, Metadata: s.Metadata, Permission: RulesOf(s.Permission),
		Time: SessionTime{Created: s.Time.Created, Updated: s.Time.Updated, Archived: s.Time.Archived},
	}
	if c := s.Compacting; c != nil {
		v.Time.Compacting = cmp.Or(c.Started, c.Timestamp)
	}
	v.Tokens.Total = 0
	if s.Share != nil {
		v.Share = &SessionShare{s.Share.URL}
	}
	if c := s.Changes; c != nil {
		v.Summary = &Summary{Additions: c.Additions, Deletions: c.Deletions, Files: c.Files}
	}
	if m := s.Model; m != nil {
		v.Model = &SessionModel{ID: m.ID, ProviderID: m.ProviderID, Variant: m.Variant}
		if v.Model.Variant == "" {
			v.Model.Variant = "default"
		}
	}
	if r := s.Revert; r != nil && !r.FilesOnly {
		v.Revert = &Revert{cmp.Or(r.RequestID, r.MessageID), r.PartID, r.Snapshot, r.Diff}
	}
	return v
}

// RulesOf converts rules.
func RulesOf(rules []session.Rule) []Rule {
	out := make([]Rule, len(rules))
	for i, r := range rules {
		out[i] = Rule{Permission: r.Action, Pattern: r.Resource, Action: r.Effect}
	}
	return out
}

// CheckRules returns an error at the invalid member of the first invalid rule.
func CheckRules(rules []Rule) error {
	e, ok := errors.AsType[*session.Error](session.CheckRules("permission", OurRules(rules)))
	if !ok {
		return nil
	}
	at, member, _ := strings.Cut(e.Field, "].")
	theirs := map[string]string{"action": "permission", "resource": "pattern", "effect": "action"}[member]
	return session.Errorf(session.CodeInvalid,
		"a rule needs a permission, a pattern, and for its action allow, deny or ask").
		At(at + "]." + theirs)
}

// OurRules converts rules from V1's form.
func OurRules(rules []Rule) []session.Rule {
	out := make([]session.Rule, len(rules))
	for i, r := range rules {
		out[i] = session.Rule{Action: r.Permission, Resource: r.Pattern, Effect: r.Action}
	}
	return out
}

// worktreeOf returns the root of the session's checkout; "/" outside of one.
func worktreeOf(s *session.Session) string {
	if s.ProjectID == "" || s.ProjectID == "global" {
		return "/"
	}
	return strings.TrimSuffix(strings.TrimSuffix(s.Location.Directory, s.Subpath), "/")
}
