package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// ContextRequest describes the request that the session's next turn would send now. Tokens are estimated.
type ContextRequest struct {
	SessionID session.ID       `json:"sessionID"`
	Agent     string           `json:"agent"`
	Model     session.ModelRef `json:"model"`
	Bytes     int64            `json:"bytes"`
	Tokens    int64            `json:"tokens"`
	Messages  int              `json:"messages"`
	Window    ContextWindow    `json:"window"`
	Sources   []ContextSource  `json:"sources"` // the largest first

	Prefix  session.CachePrefix `json:"prefix"`            // with what changed since the last turn, and why
	Last    *ContextTurn        `json:"last,omitzero"`     // the newest turn that sent a request
	Prompts int                 `json:"prompts,omitzero"`  // pending ones that the turn would promote
	Update  string              `json:"update,omitzero"`   // the message about sources that have changed
	Waiting []string            `json:"waiting,omitempty"` // sources that cannot be read now: their last text stays
	Missing []string            `json:"missing,omitempty"` // addresses of instructions that were never fetched
	Servers []string            `json:"servers,omitempty"` // notes about MCP servers whose tools the newest turn lacked

	Hides    ContextHiding `json:"hides,omitzero"`    // old outputs that are hidden before the request
	Compacts bool          `json:"compacts,omitzero"` // a compaction comes before the request
	Problem  string        `json:"problem,omitzero"`  // why the turn will fail without sending the request
	Request  *ContextText  `json:"request,omitzero"`  // with full
}

// ContextWindow is a model's context window and what the request takes of it, in tokens; 0 is unknown.
type ContextWindow struct {
	Size    int64   `json:"size"`    // the largest request that the model accepts
	Room    int64   `json:"room"`    // that is left to the answer
	Compact int64   `json:"compact"` // the size of a request from which on a compaction comes first
	Fill    float64 `json:"fill"`    // the request's share of Size in percent
}

// ContextHiding counts the old outputs of tools that are hidden from a request.
type ContextHiding struct {
	Outputs int   `json:"outputs"`
	Tokens  int64 `json:"tokens"` // of the outputs
}

// ContextSource is a part of the request.
type ContextSource struct {
	Kind   string `json:"kind"` // system, context, tool or message
	Name   string `json:"name"`
	Count  int    `json:"count,omitzero"` // of messages or parts
	Bytes  int64  `json:"bytes"`
	Tokens int64  `json:"tokens"`
	Cached int64  `json:"cached"`         // tokens that the last request began with, too
	State  string `json:"state,omitzero"` // of a source of the context: changed, new, removed or unavailable
}

// ContextTurn is a turn and what its provider reported.
type ContextTurn struct {
	MessageID session.MessageID `json:"messageID"`
	Hash      string            `json:"hash"`
	Tokens    session.Tokens    `json:"tokens"`
}

// ContextText is the text of a request. What looks like a secret is left out.
type ContextText struct {
	System   []string         `json:"system"`
	Tools    []ContextTool    `json:"tools"`
	Messages []ContextMessage `json:"messages"`
}

// ContextTool is the definition of a tool.
type ContextTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Schema      jsontext.Value `json:"schema,omitzero"`
}

// ContextMessage is a message of a request.
type ContextMessage struct {
	Role  string        `json:"role"`
	Parts []ContextPart `json:"parts"`
}

// ContextPart is a part of a message: text, reasoning, call, result or media.
type ContextPart struct {
	Type string `json:"type"`
	Name string `json:"name,omitzero"` // of a tool or file
	Mime string `json:"mime,omitzero"`
	Text string `json:"text,omitzero"`
}

// CompactionPreview describes what a compaction would do now. Tokens are estimated.
type CompactionPreview struct {
	SessionID  session.ID       `json:"sessionID"`
	Writer     session.ModelRef `json:"writer"`     // the model that would write the summary
	Summarised ContextShare     `json:"summarised"` // what the summary would replace
	Kept       ContextShare     `json:"kept"`       // what stays as it is
	Before     int64            `json:"before"`     // tokens of the next request without the compaction
	Requests   int              `json:"requests"`   // to the writer
	Record     string           `json:"record"`     // the facts that cairn adds to the summary itself
	System     string           `json:"system,omitzero"`
	Question   string           `json:"question,omitzero"` // the first that the writer gets, with full
}

// ContextShare is a part of the messages.
type ContextShare struct {
	Messages int   `json:"messages"`
	Tokens   int64 `json:"tokens"`
}

// InstructionVerdict says whether a file is in the system context of a location, and why.
type InstructionVerdict struct {
	Path     string   `json:"path"`
	Included bool     `json:"included"`
	Source   string   `json:"source,omitzero"` // the key of its source
	Rule     string   `json:"rule,omitzero"`   // by which it is found
	Reason   string   `json:"reason,omitzero"` // why it is left out, or cut
	Bytes    int64    `json:"bytes,omitzero"`
	Files    []string `json:"files"` // that are in the context, in their order
}

// Contexts shows the contexts of models.
type Contexts struct{ Client *Client }

// NextRequest returns the request that the session's next turn would send now. Nothing is sent or changed.
func (x Contexts) NextRequest(ctx context.Context, id session.ID, full bool) (ContextRequest, error) {
	out, err := get[Data[ContextRequest]](
		ctx,
		x.Client,
		apiPath("session", string(id), "context", "request"),
		fullQuery(full),
	)
	return out.Data, err
}

// PreviewCompaction returns what a compaction would do now. No model is asked.
func (x Contexts) PreviewCompaction(
	ctx context.Context, id session.ID, r session.CompactionRequest, full bool,
) (CompactionPreview, error) {
	q := fullQuery(full)
	if r.Instructions != "" {
		q.Set("instructions", r.Instructions)
	}
	if r.Model != nil {
		q.Set("model", r.Model.String())
	}
	out, err := get[Data[CompactionPreview]](ctx, x.Client, apiPath("session", string(id), "compact", "preview"), q)
	return out.Data, err
}

// ExplainInstruction says whether the file is in the system context of the client's directory, and why.
func (x Contexts) ExplainInstruction(ctx context.Context, file string) (InstructionVerdict, error) {
	q := url.Values{"path": {file}}
	out, err := get[Data[InstructionVerdict]](ctx, x.Client, apiPath("context", "explain"), q)
	return out.Data, err
}

func fullQuery(full bool) url.Values {
	q := url.Values{}
	if full {
		q.Set("full", "true")
	}
	return q
}

// ListEntries lists what clients have added to the system context of the session, sorted by key.
func (x Contexts) ListEntries(ctx context.Context, id session.ID) ([]session.ContextEntry, error) {
	out, err := get[Data[[]session.ContextEntry]](ctx, x.Client, apiPath("session", string(id), "context-entry"), nil)
	return out.Data, err
}

// AddEntry sets an entry of the system context of the session that has no value yet, else it returns an error of
// CodeConflict.
func (x Contexts) AddEntry(ctx context.Context, id session.ID, e session.ContextEntry) error {
	p := apiPath("session", string(id), "context-entry", e.Key)
	return x.Client.change(ctx, http.MethodPut, p, ContextEntryRequest{Value: e.Value, New: true})
}

// RemoveEntry removes an entry of the system context of the session.
func (x Contexts) RemoveEntry(ctx context.Context, id session.ID, key string) error {
	return x.Client.change(ctx, http.MethodDelete, apiPath("session", string(id), "context-entry", key), nil)
}
