package api

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// CreateSession asks for a session. The same id with the same content gives the same session, so a request whose answer
// was lost can be repeated; with other content it is a conflict. Title and the fields behind it are additive.
type CreateSession struct {
	ID         session.ID          `json:"id,omitzero"`
	Agent      string              `json:"agent,omitzero"`
	Model      *session.ModelRef   `json:"model,omitzero"`
	Location   *session.Location   `json:"location,omitzero"` // nil: the location of the request
	ParentID   session.ID          `json:"parentID,omitzero"`
	Title      string              `json:"title,omitzero"`
	Permission []session.Rule      `json:"permission,omitzero"`
	Budget     *session.Budget     `json:"budget,omitzero"`
	Sandbox    session.SandboxMode `json:"sandbox,omitzero"`
	Timezone   session.TimeZone    `json:"timezone,omitzero"` // of the agents' date; "": that of the parent, or the server's
	// Permissions is Permission in the words of OpenCode 2.0; one of them is given at most.
	Permissions []session.Rule `json:"permissions,omitzero"`
	Metadata    jsontext.Value `json:"metadata,omitzero"` // an object of the client
	// Asks makes a session that asks about actions without a rule, as those of cairn's commands. Sessions of other
	// clients are open, as OpenCode's are.
	Asks bool `json:"asks,omitzero"`
	// RequireModel refuses the session if the configured model, which it would use, is invalid.
	RequireModel bool `json:"requireModel,omitzero"`
	// Ephemeral makes a session for the time of the command that creates it, which deletes it when it ends. One that such
	// a command left behind is deleted by the server.
	Ephemeral bool `json:"ephemeral,omitzero"`
}

// ImportRequest is one piece of a session that was made elsewhere. Each says what the session is, and can be sent
// again; one without messages asks how many of them are here.
type ImportRequest struct {
	Session  session.Session     `json:"session"`          // its location is that of the request
	Extends  string              `json:"extends,omitzero"` // hash of the earlier import that this one continues
	IDs      []session.MessageID `json:"ids,omitzero"`     // with the first piece, of all its messages
	Outline  []session.Outline   `json:"outline,omitzero"` // with Extends, of all messages
	After    int                 `json:"after,omitzero"`
	Messages []jsontext.Value    `json:"messages,omitzero"`
	DryRun   bool                `json:"dryRun,omitzero"` // check the piece, and write nothing
}

// ImportResult says how far an import is. The session is shown in lists once all its messages are here. Of several
// imports of one session at once exactly one piece completes it.
type ImportResult struct {
	Session   session.Session `json:"session"`
	Messages  int             `json:"messages"`
	Completed bool            `json:"completed,omitzero"` // by this piece
}

// PromptRequest asks to admit a prompt. The same id with the same content gives the same receipt, so a request whose
// answer was lost can be repeated.
type PromptRequest struct {
	ID       session.MessageID `json:"id,omitzero"`
	Prompt   *session.Prompt   `json:"prompt"`
	Delivery session.Delivery  `json:"delivery,omitzero"` // steer by default
	Resume   *bool             `json:"resume,omitzero"`   // false admits only and starts no work
	Asks     session.AskPolicy `json:"asks,omitzero"`     // additive
	Recovery session.Recovery  `json:"recovery,omitzero"` // likewise
}

// CompactRequest asks to replace the history that the model sees by a summary. The same id with the same content gives
// the same receipt. Instructions and Model are additive.
type CompactRequest struct {
	ID           session.MessageID `json:"id,omitzero"`
	Delivery     session.Delivery  `json:"delivery,omitzero"`     // steer by default
	Instructions string            `json:"instructions,omitzero"` // for the summary
	Model        *session.ModelRef `json:"model,omitzero"`        // that writes it
}

// RevertRequest asks to take a session back to after a message. The fields behind Files are additive.
type RevertRequest struct {
	MessageID session.MessageID `json:"messageID"`
	Files     *bool             `json:"files,omitzero"`    // false: no file is restored
	Messages  *bool             `json:"messages,omitzero"` // false: no message goes
	PartID    session.PartID    `json:"partID,omitzero"`   // the first part of the message that goes
	// Before goes back to before the prompt that the message belongs to; with "" to before the newest prompt,
	// or the one before the staged revert.
	Before  bool `json:"before,omitzero"`
	Force   bool `json:"force,omitzero"`   // also files that are not as the session left them; copies are kept
	Preview bool `json:"preview,omitzero"` // says what would happen, and does nothing
}

// ForkRequest asks for a copy of a session, in the shape of OpenCode 2.0. PartID is additive.
type ForkRequest struct {
	Before session.MessageID `json:"before,omitzero"` // the first message that is not copied; "" copies all
	PartID session.PartID    `json:"partID,omitzero"` // of that message: the parts before it are copied
	// MessageID is the name of Before in OpenCode 2.0.
	MessageID session.MessageID `json:"messageID,omitzero"`
}

// MoveRequest asks for a session to go on in another directory. Changes and OtherProject are additive to OpenCode 2.0.
type MoveRequest struct {
	// Directory is absolute. "" is the one to which the session's project was moved; a session whose project was not
	// moved stays.
	Directory string `json:"directory,omitzero"`
	// Delivery is OpenCode's and has no effect: a session moves at the next boundary between two turns.
	Delivery     session.Delivery `json:"delivery,omitzero"`
	Changes      bool             `json:"changes,omitzero"`      // take the uncommitted changes of the working tree along; needs the scope approve
	OtherProject bool             `json:"otherProject,omitzero"` // allow a directory of another project; needs the scope approve
}

// AgentRequest selects an agent.
type AgentRequest struct {
	Agent string `json:"agent"`
}

// ModelRequest selects a model.
type ModelRequest struct {
	Model *session.ModelRef `json:"model"`
}

// SessionPatch changes what is there and leaves the rest alone.
type SessionPatch struct {
	Title      *string         `json:"title,omitzero"`
	Summary    *string         `json:"summary,omitzero"` // in prose, of a user; "" removes the summary
	Archived   *bool           `json:"archived,omitzero"`
	Permission *[]session.Rule `json:"permission,omitzero"` // replaces the session's own rules
	// Permissions is Permission in the words of OpenCode 2.0; one of them is given at most.
	Permissions *[]session.Rule `json:"permissions,omitzero"`
	Metadata    jsontext.Value  `json:"metadata,omitzero"` // an object of the client; it replaces the earlier one
	// Tags replaces the tags of the session. Then RemoveTags are removed and AddTags added, whatever it has.
	Tags       *[]string `json:"tags,omitzero"`
	RemoveTags []string  `json:"removeTags,omitempty"`
	AddTags    []string  `json:"addTags,omitempty"`
}

// Validate refuses rules under both names.
func (b *CreateSession) Validate() error {
	return checkRuleNames(b.Permission != nil, b.Permissions != nil)
}

// Validate refuses rules under both names.
func (p *SessionPatch) Validate() error {
	return checkRuleNames(p.Permission != nil, p.Permissions != nil)
}

func checkRuleNames(one, other bool) error {
	if one && other {
		return session.Errorf(session.CodeInvalid, "permission and permissions are two names of the same rules: give one").
			At("permissions")
	}
	return nil
}

// BudgetRequest replaces the budget; null lifts it.
type BudgetRequest struct {
	Budget *session.Budget `json:"budget"`
}

// RefusesUnknownMembers makes requests fail that misspell or omit the budget: ignoring that would lift the limits.
func (BudgetRequest) RefusesUnknownMembers() {}

// ContextEntryRequest sets an entry of the system context of a session.
type ContextEntryRequest struct {
	Value jsontext.Value `json:"value"`
	New   bool           `json:"new,omitzero"` // a conflict if the entry has a value already
}

// InputPatch changes a pending prompt.
type InputPatch struct {
	Prompt   *session.Prompt  `json:"prompt,omitzero"`
	Delivery session.Delivery `json:"delivery,omitzero"`
}

// InboxOrder names every pending prompt once, in their new order.
type InboxOrder struct {
	MessageIDs []session.MessageID `json:"messageIDs"`
}

// RefusesUnknownMembers makes requests fail that misspell or omit the prompts.
func (InboxOrder) RefusesUnknownMembers() {}

// AskRequest asks for a permission from outside any tool call.
type AskRequest struct {
	ID        session.AskID      `json:"id,omitzero"`
	Action    string             `json:"action"`
	Resources []string           `json:"resources"`
	Save      []string           `json:"save,omitzero"`
	Metadata  jsontext.Value     `json:"metadata,omitzero"`
	Source    *session.AskSource `json:"source,omitzero"`
	Agent     string             `json:"agent,omitzero"`
}

// ReplyRequest answers an ask. Message goes with a rejection: the model reads it and goes on. Lifetime goes with
// always; without it the approval holds in the project until it is revoked. Patterns go with always, too: they are
// saved instead of those that the ask offers.
type ReplyRequest struct {
	Reply    session.Reply    `json:"reply"`
	Message  string           `json:"message,omitzero"`
	Lifetime session.Lifetime `json:"lifetime,omitzero"`
	Patterns []string         `json:"patterns,omitempty"`
}

// Answers answers a question: a list for each of its parts.
type Answers struct {
	Answers [][]string `json:"answers"`
}

// SessionQuery selects sessions. Cursor continues an earlier list, whose other fields it holds itself.
type SessionQuery struct {
	Directory string
	Project   session.ProjectID // also the id of a record (additive)
	Within    string            // additive, with a record: adds those of project "global" in this directory and below
	Subpath   string
	Search    string
	Parent    *session.ID // nil any; pointer to "" only roots (additive)
	Archived  bool        // additive
	Tags      []string    // additive: only sessions with all of them
	Oldest    bool
	Limit     int // 0 is 50
	Cursor    string
}

// MessageQuery selects messages of a session, newest first unless Oldest.
type MessageQuery struct {
	Oldest bool
	Limit  int // 0 is 50, at most 200
	Cursor string
}
