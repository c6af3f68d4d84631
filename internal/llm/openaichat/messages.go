package openaichat

import (
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// message is one entry of the conversation in the request. Content is a string, a list of parts, or null.
type message struct {
	Role       string                    `json:"role"`
	Content    jsontext.Value            `json:"content"`
	ToolCallID string                    `json:"tool_call_id,omitempty"`
	ToolCalls  []toolCall                `json:"tool_calls,omitempty"`
	Extra      map[string]jsontext.Value `json:",embed"`
}

type toolCall struct {
	ID       string         `json:"id"`
	Type     string         `json:"type"`
	Function calledFunction `json:"function"`
	// ExtraContent is a member that some vendors attach to a call and require back with it.
	ExtraContent jsontext.Value `json:"extra_content,omitzero"`
}

type calledFunction struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// part is a part of a user message.
type part struct {
	Type     string    `json:"type"`
	Text     *string   `json:"text,omitzero"`
	ImageURL *imageURL `json:"image_url,omitzero"`
	File     *file     `json:"file,omitzero"`
	// Mark is the dialect's CacheField, which sets a cache breakpoint.
	Mark map[string]jsontext.Value `json:",embed"`
}

type imageURL struct {
	URL string `json:"url"`
}

type file struct {
	Name string `json:"filename"`
	Data string `json:"file_data"`
}

// conversation collects the messages. The tool results of one assistant message must be consecutive, so content between
// them waits.
type conversation struct {
	d           Dialect
	out         []message
	user        []part // the content of the last message while it is an open user message
	attachments []part // media of tool results, sent by the user after them
	updates     wire.PendingUpdates
}

// encodeMessages returns the messages of the request. Updates of the system prompt wait until the results of all calls
// are there, since a result must follow its call; attachments of results follow them in a user message.
func (d Dialect) encodeMessages(req *llm.Request) []message {
	c := conversation{d: d}
	// The system prompt: a message, or the beginning of the first user message for models without that role.
	switch {
	case len(req.System) == 0:
	case d.NoSystem:
		c.addUser([]part{textPart(strings.Join(req.System, "\n"))})
	default:
		c.add(message{Role: "system", Content: d.encodeSystem(req.System, req.Breakpoints.System)})
	}
	for i, m := range req.Messages {
		// An update between a call and its results waits; addPending sends it afterwards.
		switch m.Role {
		case llm.RoleSystem:
			if c.updates.Add(m.Parts) {
				c.addPending()
			}
		case llm.RoleUser:
			c.addPending()
			c.addUser(userParts(m.Parts))
		case llm.RoleAssistant:
			c.addPending()
			c.addAssistant(m.Parts)
		case llm.RoleTool:
			c.addResults(m.Parts)
		}
		// A breakpoint is on the message that was added last.
		if slices.Contains(req.Breakpoints.Messages, i) {
			c.markLast()
		}
	}
	// Send what still waits. A request without messages gets an empty list, not null.
	c.addPending()
	c.closeUser()
	if c.out == nil {
		return []message{}
	}
	return c.out
}

func (c *conversation) add(m message) {
	c.closeUser()
	c.out = append(c.out, m)
}

// addUser appends a user message and leaves it open, so that an update can join it.
func (c *conversation) addUser(parts []part) {
	if len(parts) == 0 {
		return
	}
	if c.user != nil && c.d.MergeUsers {
		if parts[0].Text != nil {
			parts[0] = textPart("\n\n" + *parts[0].Text)
		}
		c.user = append(c.user, parts...)
		return
	}
	c.closeUser()
	if n := len(c.out); c.d.BridgeToolUser && n > 0 && c.out[n-1].Role == "tool" {
		c.out = append(c.out, message{Role: "assistant", Content: wire.Quote("Done.")})
	}
	c.user = parts
}

// closeUser encodes the open user message.
func (c *conversation) closeUser() {
	if c.user == nil {
		return
	}
	c.out = append(c.out, message{Role: "user", Content: c.d.encodeContent(c.user)})
	c.user = nil
}

// encodeContent returns a string if all parts are text and the dialect has no breakpoints, else a list of parts.
func (d Dialect) encodeContent(parts []part) jsontext.Value {
	if d.CacheField != "" {
		return wire.MarshalOr(parts, wire.Quote("[unreadable attachment]"))
	}
	var text strings.Builder
	for _, p := range parts {
		if p.Text == nil {
			list, err := json.Marshal(parts, jsontext.AllowInvalidUTF8(true))
			if err != nil {
				return wire.Quote("[unreadable attachment]")
			}
			return list
		}
		text.WriteString(*p.Text)
	}
	return wire.Quote(text.String())
}

// addPending ends a list of tool results: their attachments follow in one user message, then the updates that waited.
func (c *conversation) addPending() {
	if len(c.attachments) > 0 {
		c.addUser(append([]part{textPart("Attachments of the tool results above:")}, c.attachments...))
		c.attachments = nil
	}
	for _, text := range c.updates.TakeTexts() {
		c.addUpdate(text)
	}
}

// addUpdate adds an update to the open user message, or as a new one.
func (c *conversation) addUpdate(text string) {
	if c.user == nil {
		c.addUser([]part{textPart(text)})
		return
	}
	c.user = append(c.user, textPart("\n"+text))
}

// addAssistant adds an answer of the model as one message. What the protocol cannot express in it (hosted calls, their
// results, media) becomes text.
func (c *conversation) addAssistant(parts []llm.Part) {
	// Collect the parts by kind: the message has one text, one reasoning and a list of calls.
	var texts, thoughts []string
	var generated []part
	m := message{Role: "assistant"}
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			texts = append(texts, p.Text)
		case llm.Reasoning:
			thoughts = append(thoughts, p.Text)
			c.d.restore(&m, p.Metadata)
		case llm.ToolCall:
			if p.Hosted {
				texts = append(texts, wire.HostedCallNote(p))
				continue
			}
			m.ToolCalls = append(m.ToolCalls, c.d.encodeCall(p))
		case llm.ToolResult:
			text, attached := splitResult(p)
			texts = append(texts, wire.HostedResultNote(p, text))
			// Media of a hosted result follow in a user message, like those of other results.
			generated = append(generated, attached...)
		case llm.Media:
			texts = append(texts, wire.MediaURLNote(p))
		}
	}
	// The content is null only beside calls.
	text := strings.Join(texts, "\n")
	m.Content = jsontext.Value("null")
	if text != "" || len(m.ToolCalls) == 0 {
		m.Content = wire.Quote(text)
	}
	c.d.setReasoning(&m, strings.Join(thoughts, ""))
	// An answer with nothing to send is left out, unless its reasoning must be sent back.
	if text == "" && len(m.ToolCalls) == 0 && (len(m.Extra) == 0 || len(thoughts) == 0) {
		return
	}
	c.add(m)
	c.updates.AddCalls(len(m.ToolCalls))
	c.attachments = append(c.attachments, generated...)
}

func (d Dialect) encodeCall(p llm.ToolCall) toolCall {
	return toolCall{
		ID:           d.encodeCallID(p.ID),
		Type:         "function",
		Function:     calledFunction{Name: wire.NormalizeToolName(p.Name), Arguments: string(wire.NormalizeInput(p.Input))},
		ExtraContent: d.readMetadata(p.Metadata)[keyContent],
	}
}

func (c *conversation) addResults(parts []llm.Part) {
	for r := range llm.PartsOf[llm.ToolResult](parts) {
		text, attached := splitResult(r)
		c.add(message{Role: "tool", ToolCallID: c.d.encodeCallID(r.ID), Content: c.d.resultText(text)})
		c.attachments = append(c.attachments, attached...)
		c.updates.MarkAnswered()
	}
}

func splitResult(r llm.ToolResult) (string, []part) {
	lines, attached := wire.SplitResult(r, mediaPart, wire.MediaURLNote)
	if len(lines) == 0 && len(attached) > 0 {
		lines = append(lines, wire.AttachmentFollows)
	}
	return strings.Join(lines, "\n"), attached
}
