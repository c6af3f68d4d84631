package anthropic

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// message is one entry of the conversation in the request.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// The roles of the protocol. Few models support the system role.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

// conversation collects the messages. Roles alternate: consecutive content of one role is one message. Results must
// follow their calls directly, so an instruction between them waits.
type conversation struct {
	d           Dialect
	opt         options
	out         []message
	updates     wire.PendingUpdates
	attachments []block         // images of the previous answer, sent by the user after the results of its calls
	paused      map[string]bool // calls whose results are in the next answer
}

func (d Dialect) encodeMessages(req *llm.Request, opt options) []message {
	c := conversation{d: d, opt: opt, paused: map[string]bool{}}
	_, breakpoints := opt.placeBreakpoints(req)
	for i, m := range req.Messages {
		following := req.Messages[i+1:]
		switch m.Role {
		case llm.RoleSystem:
			c.addUpdate(m.Parts, nextRole(following))
		case llm.RoleUser:
			c.addPending()
			c.add(roleUser, userBlocks(m.Parts)...)
		case llm.RoleAssistant:
			c.addPending()
			c.addAssistant(m.Parts, following)
		case llm.RoleTool:
			c.addResults(m.Parts)
		}
		if slices.Contains(breakpoints, i) && len(c.out) > 0 {
			markLast(c.out[len(c.out)-1].Content, opt.ttl)
		}
	}
	c.addPending()
	c.closeConversation()
	return c.out
}

// nextRole returns the role of the next message that is not an instruction.
func nextRole(rest []llm.Message) llm.Role {
	for _, m := range rest {
		if m.Role != llm.RoleSystem {
			return m.Role
		}
	}
	return ""
}

// add appends blocks, to the last message if it has the same role.
func (c *conversation) add(role string, blocks ...block) {
	if len(blocks) == 0 {
		return
	}
	if n := len(c.out); n > 0 && c.out[n-1].Role == role {
		c.out[n-1].Content = append(c.out[n-1].Content, blocks...)
		return
	}
	c.out = append(c.out, message{Role: role, Content: blocks})
}

func userBlocks(parts []llm.Part) []block {
	var out []block
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				out = append(out, b)
			}
		case llm.Media:
			out = append(out, mediaBlock(p))
		}
	}
	if len(out) == 0 {
		return []block{noteBlock("(empty message)")}
	}
	return out
}

// addUpdate adds an instruction: in the system role if the model supports it and the instruction is between a user
// message and an answer, else as text of the user.
func (c *conversation) addUpdate(parts []llm.Part, next llm.Role) {
	n := len(c.out)
	if c.d.SystemMessages && !c.updates.IsWaiting() && len(c.attachments) == 0 && n > 0 &&
		c.out[n-1].Role != roleAssistant && (next == "" || next == llm.RoleAssistant) {
		c.add(roleSystem, plainTexts(parts)...)
		return
	}
	if c.updates.Add(parts) {
		c.addPending()
	}
}

func plainTexts(parts []llm.Part) []block {
	var out []block
	for t := range llm.PartsOf[llm.Text](parts) {
		if b, ok := textBlock(t.Text); ok {
			out = append(out, b)
		}
	}
	return out
}

// addPending adds what waited for the results of calls.
func (c *conversation) addPending() {
	c.add(roleUser, c.attachments...)
	c.attachments = nil
	for _, text := range c.updates.TakeTexts() {
		c.add(roleUser, noteBlock(text))
	}
}

func (c *conversation) addResults(parts []llm.Part) {
	for r := range llm.PartsOf[llm.ToolResult](parts) {
		c.add(roleUser, resultBlock(r))
		c.updates.MarkAnswered()
	}
}

func (c *conversation) addAssistant(parts []llm.Part, following []llm.Message) {
	var out []block
	for i, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				b.Citations = wire.ReadMetadata(p.Metadata, namespace)[keyCitations]
				out = append(out, b)
			}
		case llm.Reasoning:
			if b, ok := newReasoning(p); ok && !c.opt.noReasoning {
				out = append(out, b)
			}
		case llm.ToolCall:
			if p.Hosted {
				out = append(out, c.addHosted(p, findResult(p.ID, parts[i+1:]), following)...)
				continue
			}
			out = append(out, callBlock(p))
			c.updates.AddCalls(1)
		case llm.Media:
			out = append(out, mediaBlock(p))
		}
	}
	c.add(roleAssistant, wire.MoveCallsLast(out, isLocalCall, isReasoning)...)
}

// findResult returns the result of a hosted call among the parts after it.
func findResult(id string, rest []llm.Part) *llm.ToolResult {
	for r := range llm.PartsOf[llm.ToolResult](rest) {
		if r.ID == id {
			return &r
		}
	}
	return nil
}

// closeConversation completes the end of the conversation. A model continues its own answer only if a hosted tool
// paused it; else a user message asks it to. Trailing space in the last answer is refused.
func (c *conversation) closeConversation() {
	n := len(c.out)
	if n == 0 {
		c.out = []message{{Role: roleUser, Content: []block{noteBlock("(empty message)")}}}
		return
	}
	end := c.out[n-1]
	if end.Role != roleAssistant {
		return
	}
	b := &end.Content[len(end.Content)-1]
	if b.Type == "text" {
		b.Text = strings.TrimRight(b.Text, " \t\r\n")
	}
	if len(c.paused) == 0 && !strings.HasSuffix(b.Type, resultSuffix) {
		c.add(roleUser, noteBlock("(go on)"))
	}
}

func isLocalCall(b block) bool { return b.Type == "tool_use" }

func isReasoning(b block) bool { return b.Type == "thinking" || b.Type == "redacted_thinking" }

// newReasoning returns earlier reasoning as the provider signed it; false without a signature.
func newReasoning(p llm.Reasoning) (block, bool) {
	signature, redacted := wire.ReasoningMetadata(p, namespace)
	if redacted != "" {
		return block{Type: "redacted_thinking", Data: redacted}, true
	}
	text := strings.ToValidUTF8(p.Text, "\uFFFD")
	return block{Type: "thinking", Thinking: &text, Signature: signature}, signature != ""
}
