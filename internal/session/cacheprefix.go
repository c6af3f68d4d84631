package session

// CachePrefix is the fingerprint of a turn's request as a provider's prompt cache sees it: its model, system texts,
// tools and messages. A request that starts with the whole previous request is read from the cache; Changed is the
// first part that keeps it from doing so.
type CachePrefix struct {
	Hash     string      `json:"hash"`   // of the messages
	Model    string      `json:"model"`  // hash, with its options
	System   string      `json:"system"` // hash
	Tools    string      `json:"tools"`  // hash
	Messages int         `json:"messages"`
	Mode     PrefixMode  `json:"mode,omitzero"`
	Changed  string      `json:"changed,omitzero"` // the first part that differs from the previous request, as text
	Cause    PrefixCause `json:"cause,omitzero"`   // the known reason for the change; "" if unknown
	Edits    int         `json:"edits,omitzero"`   // Session.Edits at the time of the request
	Bytes    int64       `json:"bytes,omitzero"`   // of the request's texts
	Dense    int64       `json:"dense,omitzero"`   // those of Bytes that are data without words
	Media    int64       `json:"media,omitzero"`   // estimated tokens of its images and documents
}

// PrefixMode is the reason why the tools of a request differ from the tools of its agent.
type PrefixMode string

// The prefix modes. The zero value means the agent's own tools.
const (
	ModeLastStep PrefixMode = "last-step" // no tools: the agent's steps are used up
	ModeForm     PrefixMode = "form"      // one more tool, for structured output
	ModeLastForm PrefixMode = "last-form" // only the tool for structured output
)

// PrefixCause is an intended reason for a request to start differently from the previous one.
type PrefixCause string

// The prefix causes.
const (
	CauseModel      PrefixCause = "model"      // another model or variant was selected
	CauseAgent      PrefixCause = "agent"      // another agent was selected
	CauseCompaction PrefixCause = "compaction" // the history was replaced by a summary
	CauseContext    PrefixCause = "context"    // a new context epoch began, or a prompt has its own system text
	CauseExclusion  PrefixCause = "exclusion"  // the provider rejected content, which is excluded
	CauseEdit       PrefixCause = "edit"       // a message was edited
	CauseExtension  PrefixCause = "extension"  // an extension changed the request, or the one before
	CauseMode       PrefixCause = "mode"       // the last step or structured output begins or ends
)

// UnexpectedChange returns the first part of the request that changed without a known cause, "" if no part did.
func (p *CachePrefix) UnexpectedChange() string {
	if p == nil || p.Cause != "" {
		return ""
	}
	return p.Changed
}

// CacheShare returns the share of input tokens that the provider read from its cache, from 0 to 1. It is false if there
// was no input.
func (t Tokens) CacheShare() (share float64, ok bool) {
	all := t.Input + t.Cache.Read + t.Cache.Write
	if all <= 0 {
		return 0, false
	}
	return float64(t.Cache.Read) / float64(all), true
}
