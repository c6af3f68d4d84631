package session

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Content is one item of an assistant message: Text, Reasoning or Tool, always by pointer. ItemID is the prt_ id from
// the event that starts the item, unique in the session; V1 uses it as the part id.
type Content interface {
	ItemID() PartID
}

// Text is a text block. ID is the provider's name for it, unique within the turn only.
type Text struct {
	Type     string         `json:"type"` // "text"
	ID       string         `json:"id"`
	PartID   PartID         `json:"partID,omitzero"`
	Text     string         `json:"text"`
	Time     *ItemTime      `json:"time,omitzero"`
	Partial  bool           `json:"partial,omitzero"` // ended early by a failure or a crash
	Metadata jsontext.Value `json:"providerMetadata,omitzero"`
	Replaced *Replacement   `json:"replaced,omitzero"` // the model's text; nil: Text is the model's
	Extra    jsontext.Value `json:",embed"`
}

// Reasoning is a thinking block. Metadata is provider data that later requests must repeat verbatim.
type Reasoning struct {
	Type     string         `json:"type"` // "reasoning"
	ID       string         `json:"id"`
	PartID   PartID         `json:"partID,omitzero"`
	Text     string         `json:"text"`
	Metadata jsontext.Value `json:"providerMetadata,omitzero"`
	Time     *ItemTime      `json:"time,omitzero"`
	Partial  bool           `json:"partial,omitzero"`
	Extra    jsontext.Value `json:",embed"`
}

// Tool is a tool call with its state. ID is the provider's call id, unique within the turn only.
type Tool struct {
	Type     string        `json:"type"` // "tool"
	ID       string        `json:"id"`
	PartID   PartID        `json:"partID,omitzero"`
	Name     string        `json:"name"`
	Provider *ToolProvider `json:"provider,omitzero"`
	State    ToolState     `json:"state"`
	Time     ToolTime      `json:"time"`

	Extensions *CallExtensions `json:"extensions,omitzero"` // that took part before the call ran
	Replaced   *Replacement    `json:"replaced,omitzero"`   // the tool's own output, by extensions
	// EnvironmentBy are the extensions that added variables to the environment of its command.
	EnvironmentBy []string `json:"environmentBy,omitempty"`

	Extra jsontext.Value `json:",embed"`
}

// ItemID returns the item's id.
func (t *Text) ItemID() PartID { return t.PartID }

// ItemID returns the item's id.
func (r *Reasoning) ItemID() PartID { return r.PartID }

// ItemID returns the item's id.
func (t *Tool) ItemID() PartID { return t.PartID }

// ItemTime holds the times at which an item began and ended.
type ItemTime struct {
	Created   int64 `json:"created"`
	Completed int64 `json:"completed,omitzero"`
}

// ToolTime holds when a call began, ran and settled. Waited is a duration: how much of the time from Ran to Completed
// the call waited for answers of a person.
type ToolTime struct {
	Created   int64 `json:"created"`
	Ran       int64 `json:"ran,omitzero"`
	Completed int64 `json:"completed,omitzero"`
	Pruned    int64 `json:"pruned,omitzero"`
	Waited    int64 `json:"waited,omitzero"`
}

// Took returns how long the call worked until it settled, without its waits for answers. Of an open call, whose waits
// are not known yet, it is the time until now. It is 0 for a call without times.
func (t ToolTime) Took(now time.Time) time.Duration {
	began, ended := cmp.Or(t.Ran, t.Created), cmp.Or(t.Completed, now.UnixMilli())
	if began == 0 {
		return 0
	}
	return time.Duration(max(ended-began-t.Waited, 0)) * time.Millisecond
}

// ToolProvider holds whether the provider runs the call, and the provider's own data about it.
type ToolProvider struct {
	Executed       bool           `json:"executed"`
	Metadata       jsontext.Value `json:"metadata,omitzero"`
	ResultMetadata jsontext.Value `json:"resultMetadata,omitzero"`
}

// ToolStatus is the status of a call. It moves pending → running → completed or error, never back.
type ToolStatus string

// The tool statuses.
const (
	ToolPending   ToolStatus = "pending"
	ToolRunning   ToolStatus = "running"
	ToolCompleted ToolStatus = "completed"
	ToolError     ToolStatus = "error"
)

// IsSettled reports whether the call has its outcome.
func (s ToolStatus) IsSettled() bool { return s == ToolCompleted || s == ToolError }

// ToolState is the state of a call. While the call is pending, Input is a JSON string with the raw argument text so
// far; afterwards it is the argument object. The other fields are set in later statuses.
type ToolState struct {
	Status      ToolStatus     `json:"status"`
	Input       jsontext.Value `json:"input"`
	Title       string         `json:"title,omitzero"`
	Structured  jsontext.Value `json:"structured,omitzero"`
	Content     []ToolContent  `json:"content,omitzero"`
	OutputPaths []string       `json:"outputPaths,omitzero"`
	Attachments []File         `json:"attachments,omitzero"`
	Result      jsontext.Value `json:"result,omitzero"`
	Error       *Failure       `json:"error,omitzero"`
	Extra       jsontext.Value `json:",embed"`
}

// HasFailed reports whether the call has ended badly: with an error, or with a result whose command was stopped (null) or
// ended with another exit code than 0.
func (s *ToolState) HasFailed() bool {
	if s.Status != ToolCompleted {
		return s.Status == ToolError
	}
	var result struct {
		Exit jsontext.Value `json:"exit"`
	}
	if !bytes.Contains(s.Structured, []byte(`"exit"`)) || json.Unmarshal(s.Structured, &result, jsontext.AllowInvalidUTF8(true)) != nil {
		return false
	}
	kind := result.Exit.Kind()
	return kind == 'n' || kind == '0' && string(result.Exit) != "0"
}

// ToolContent is a piece of a result that the model sees: text, or a file by URI.
type ToolContent struct {
	Type string `json:"type"` // "text" or "file"
	Text string `json:"text,omitzero"`
	URI  string `json:"uri,omitzero"`
	Mime string `json:"mime,omitzero"`
	Name string `json:"name,omitzero"`
}

// TextContent returns content that is text.
func TextContent(s string) []ToolContent { return []ToolContent{{Type: "text", Text: s}} }

// UnmarshalJSONFrom decodes each content item into its type.
func (a *Assistant) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	type plain Assistant // without this method
	v := struct {
		*plain
		Content items `json:"content"`
	}{(*plain)(a), a.Content}
	err := json.UnmarshalDecode(dec, &v)
	a.Content = v.Content
	return err
}

// items decodes a list of content.
type items []Content

// UnmarshalJSONFrom decodes each item into its type.
func (s *items) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if dec.PeekKind() != '[' { // null, or an error
		return json.UnmarshalDecode(dec, (*[]Content)(s))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*s = []Content{}
	for dec.PeekKind() != ']' {
		c, err := readContent(dec)
		if err != nil {
			return err
		}
		*s = append(*s, c)
	}
	_, err := dec.ReadToken()
	return err
}

// readContent decodes one item, in one pass if its type is the first field, as cairn writes it.
func readContent(dec *jsontext.Decoder) (Content, error) {
	if c := contentOf(firstType(dec.UnreadBuffer())); c != nil {
		return c, json.UnmarshalDecode(dec, c)
	}
	raw, err := dec.ReadValue()
	if err != nil {
		return nil, err
	}
	var tag struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &tag); err != nil {
		return nil, err
	}
	c := contentOf(tag.Type)
	if c == nil {
		return nil, fmt.Errorf("unknown content type %q", tag.Type)
	}
	return c, json.Unmarshal(raw, c)
}

// firstType returns the type of the next object of a list if the type is its first field, else "".
func firstType(unread []byte) string {
	rest, first := bytes.CutPrefix(bytes.TrimLeft(unread, ", \t\r\n"), []byte(`{"type":"`))
	name, _, closed := bytes.Cut(rest[:min(len(rest), 16)], []byte{'"'})
	if !first || !closed {
		return ""
	}
	return string(name)
}

func contentOf(kind string) Content {
	switch kind {
	case "text":
		return &Text{}
	case "reasoning":
		return &Reasoning{}
	case "tool":
		return &Tool{}
	default:
		return nil
	}
}

// Item returns the item with the id, nil if the turn has no such item.
func (a *Assistant) Item(id PartID) Content {
	for i := len(a.Content) - 1; i >= 0; i-- {
		if a.Content[i].ItemID() == id {
			return a.Content[i]
		}
	}
	return nil
}

// Tools returns the tool calls in order.
func (a *Assistant) Tools() []*Tool {
	var ts []*Tool
	for _, c := range a.Content {
		if t, ok := c.(*Tool); ok {
			ts = append(ts, t)
		}
	}
	return ts
}

// LastText returns the last text of the answer, "" without one.
func (a *Assistant) LastText() string {
	for _, c := range slices.Backward(a.Content) {
		if text, ok := c.(*Text); ok && text.Text != "" {
			return text.Text
		}
	}
	return ""
}

// Open reports whether the turn has not ended.
func (a *Assistant) Open() bool { return a.Time.Completed == 0 }
