package bedrock

import (
	"fmt"
	"slices"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// message is one entry of the conversation in the request.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// conversation collects the messages. Roles alternate: consecutive content of one role is one message. Results must
// follow their calls directly, so instructions and media between them wait.
type conversation struct {
	d         Dialect
	out       []message
	waiting   int     // calls of the last message without a result
	pending   []block // added after the results
	documents map[string]int
}

func (d Dialect) encodeMessages(req *llm.Request) []message {
	c := conversation{d: d, documents: map[string]int{}}
	marks := d.messageBreakpoints(req)
	for i, m := range req.Messages {
		switch m.Role {
		case llm.RoleSystem:
			c.addUpdate(m.Parts)
		case llm.RoleUser:
			c.addPending()
			c.add(roleUser, c.userBlocks(m.Parts)...)
		case llm.RoleAssistant:
			c.addPending()
			c.addAssistant(m.Parts)
		case llm.RoleTool:
			c.addResults(m.Parts)
		}
		if c.waiting == 0 {
			c.addPending()
		}
		if slices.Contains(marks, i) {
			c.addCachePoint()
		}
	}
	c.addPending()
	c.closeConversation()
	return c.out
}

// messageBreakpoints returns the indexes of messages with a cache point.
func (d Dialect) messageBreakpoints(req *llm.Request) []int {
	if !d.Caches {
		return nil
	}
	_, messages := wire.LimitBreakpoints(req)
	return messages
}

// addCachePoint adds a cache point at the end of the conversation so far, but not after reasoning.
func (c *conversation) addCachePoint() {
	n := len(c.out)
	if n == 0 {
		return
	}
	m := &c.out[n-1]
	end := len(m.Content)
	for end > 0 && m.Content[end-1].Reasoning != nil {
		end--
	}
	if end > 0 && m.Content[end-1].CachePoint == nil {
		m.Content = slices.Insert(m.Content, end, cachePoint)
	}
}

// add appends blocks, to the last message if it has the same role. The conversation begins with the user.
func (c *conversation) add(role string, blocks ...block) {
	n := len(c.out)
	switch {
	case len(blocks) == 0:
		return
	case n > 0 && c.out[n-1].Role == role:
		c.out[n-1].Content = append(c.out[n-1].Content, blocks...)
	case n == 0 && role == roleAssistant:
		c.out = []message{{roleUser, []block{noteBlock("(go on)")}}, {role, blocks}}
	default:
		c.out = append(c.out, message{role, blocks})
	}
	limitAttachments(c.out[len(c.out)-1].Content)
}

// The maximum numbers of images and documents in a message.
const (
	maxImages    = 20
	maxDocuments = 5
)

// limitAttachments replaces excess images and documents of a message by notes.
func limitAttachments(blocks []block) {
	// count replaces what exceeds the limits; it counts across its calls.
	images, documents := 0, 0
	count := func(list []block) {
		for i := range list {
			switch b := &list[i]; {
			case b.Image != nil:
				if images++; images > maxImages {
					*b = noteBlock(
						fmt.Sprintf("[an image was left out: this model's interface takes %d of them in one message]", maxImages),
					)
				}
			case b.Document != nil:
				if documents++; documents > maxDocuments {
					*b = noteBlock(
						fmt.Sprintf(
							"[the document %q was left out: this model's interface takes %d of them in one message]", b.Document.Name,
							maxDocuments,
						),
					)
				}
			}
		}
	}
	// Results count first, as they come first in the message, then the blocks of the message itself.
	for i := range blocks {
		if r := blocks[i].ToolResult; r != nil {
			count(r.Content)
		}
	}
	count(blocks)
}

// userBlocks returns the content of a user message. A document requires a text next to it.
func (c *conversation) userBlocks(parts []llm.Part) []block {
	var out []block
	text := false
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				out = append(out, b)
			}
		case llm.Media:
			out = append(out, c.mediaBlock(p))
		}
		text = text || len(out) > 0 && out[len(out)-1].Text != ""
	}
	switch {
	case len(out) == 0:
		return []block{noteBlock("(empty message)")}
	case !text:
		return append(out, noteBlock("(attached)"))
	}
	return out
}

// addUpdate adds an instruction as text of the user.
func (c *conversation) addUpdate(parts []llm.Part) {
	if text := wire.FormatUpdate(parts); text != "" {
		c.pending = append(c.pending, noteBlock(text))
	}
}

// addPending adds what waited for the results of calls.
func (c *conversation) addPending() {
	c.waiting = 0
	c.add(roleUser, c.pending...)
	c.pending = nil
}

func (c *conversation) addResults(parts []llm.Part) {
	for r := range llm.PartsOf[llm.ToolResult](parts) {
		c.add(roleUser, c.encodeResult(r))
		if c.waiting > 0 {
			c.waiting--
		}
	}
}

// encodeResult returns the outcome of a call. Documents, and images that the model does not accept there, follow it.
func (c *conversation) encodeResult(r llm.ToolResult) block {
	out := toolResult{ID: wire.NormalizeCallID(r.ID, callIDPrefix)}
	// Report success only to the models that accept the field.
	switch {
	case r.IsError:
		out.Status = "error"
	case c.d.Claude || c.d.Nova: // other models refuse the field
		out.Status = "success"
	}
	// Texts and accepted media stay in the result; other media wait for the user message after the results.
	attached := false
	for _, p := range r.Content {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				out.Content = append(out.Content, b)
			}
		case llm.Media:
			b := c.mediaBlock(p)
			if b.Text != "" || (b.Image != nil && c.d.ResultMedia) {
				out.Content = append(out.Content, b)
				continue
			}
			c.attach(b)
			attached = true
		}
	}
	// A result without parts is sent as its JSON.
	if len(out.Content) == 0 && len(r.Raw) > 0 {
		out.Content = []block{noteBlock(string(r.Raw))}
	}
	// The API refuses an empty result.
	switch {
	case len(out.Content) == 0 && attached:
		out.Content = []block{noteBlock("The attachments follow.")}
	case len(out.Content) == 0:
		out.Content = []block{noteBlock("(no output)")}
	}
	return block{ToolResult: &out}
}

// attach keeps a block for the user message after the results.
func (c *conversation) attach(b block) {
	if len(c.pending) == 0 {
		c.pending = append(c.pending, noteBlock("Attachments of the tool results above:"))
	}
	c.pending = append(c.pending, b)
}

// addAssistant adds an answer of the model. Calls that the vendor ran itself, and their results, become notes, because
// Converse has no blocks for them. Local calls come last and their results are expected next.
func (c *conversation) addAssistant(parts []llm.Part) {
	// Encode the parts in order.
	var out []block
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				out = append(out, b)
			}
		case llm.Reasoning:
			if b, ok := newReasoning(p); ok {
				out = append(out, b)
			}
		case llm.ToolCall:
			if p.Hosted {
				out = append(out, noteBlock(wire.HostedCallNote(p)))
				continue
			}
			// A local call: its result is waited for.
			out = append(
				out,
				block{
					ToolUse: &toolUse{
						wire.NormalizeCallID(p.ID, callIDPrefix), wire.NormalizeToolName(p.Name), wire.NormalizeInput(p.Input),
					},
				},
			)
			c.waiting++
		case llm.ToolResult:
			// The media of a hosted result cannot be part of an answer; they follow in the next user message.
			out = append(out, noteBlock(wire.HostedResultNote(p, wire.HostedResultText(p))))
			for m := range llm.PartsOf[llm.Media](p.Content) {
				c.attach(c.mediaBlock(m))
			}
		case llm.Media:
			out = append(out, c.mediaBlock(p))
		}
	}
	// Converse expects the results directly after the calls.
	c.add(roleAssistant, wire.MoveCallsLast(out, isCall, isReasoning)...)
}

// closeConversation completes the end of the conversation, which must be a user message.
func (c *conversation) closeConversation() {
	n := len(c.out)
	if n == 0 {
		c.add(roleUser, noteBlock("(empty message)"))
		return
	}
	if c.out[n-1].Role == roleAssistant {
		c.add(roleUser, noteBlock("(go on)"))
	}
}
