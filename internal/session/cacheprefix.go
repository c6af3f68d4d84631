package session

// CachePrefix says of a turn's request what a provider's cache can tell from another: its model, system texts, tools
// and messages. A request that begins with all of the one before is read from the cache; Changed says why one does not.
type CachePrefix struct {
	Hash     string      `json:"hash"`   // of the messages
	Model    string      `json:"model"`  // hash, with its options
	System   string      `json:"system"` // hash
	Tools    string      `json:"tools"`  // hash
	Messages int         `json:"messages"`
	Mode     PrefixMode  `json:"mode,omitzero"`
	Changed  string      `json:"changed,omitzero"` // the first part that differs from the request before, for people
	Cause    PrefixCause `json:"cause,omitzero"`   // what was done that had to change it; "": nothing that is known of
	Edits    int         `json:"edits,omitzero"`   // of the session until then
}

// PrefixMode is why a request has other tools than those of its agent.
type PrefixMode string

// The modes. The zero value is the agent's tools.
const (
	ModeLastStep PrefixMode = "last-step" // none: the agent's steps are used up
	ModeForm     PrefixMode = "form"      // one more: the answer must have a form
	ModeLastForm PrefixMode = "last-form" // that one alone
)

// PrefixCause is what makes a request begin otherwise than the one before, on purpose.
type PrefixCause string

// The causes.
const (
	CauseModel      PrefixCause = "model"      // another model or variant was chosen
	CauseAgent      PrefixCause = "agent"      // another agent was chosen
	CauseCompaction PrefixCause = "compaction" // the past was summed up
	CauseContext    PrefixCause = "context"    // a new context epoch began, or a prompt brought a system text of its own
	CauseExclusion  PrefixCause = "exclusion"  // the provider refused a part, which is left out
	CauseEdit       PrefixCause = "edit"       // somebody edited what was said
	CauseMode       PrefixCause = "mode"       // the last step, or an answer in a form, begins or ends
)

// UnexpectedChange returns what changed though nothing should have changed it; "" if all is well.
func (p *CachePrefix) UnexpectedChange() string {
	if p == nil || p.Cause != "" {
		return ""
	}
	return p.Changed
}

// CacheShare is the share of the input tokens that came from the provider's cache, from 0 to 1; false if there was no input.
func (t Tokens) CacheShare() (share float64, ok bool) {
	all := t.Input + t.Cache.Read + t.Cache.Write
	if all <= 0 {
		return 0, false
	}
	return float64(t.Cache.Read) / float64(all), true
}
