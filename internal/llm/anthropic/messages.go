package anthropic

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// message is one entry of the conversation on the wire.
type message struct {
	Role    string  `json:"role"`
	Content []block `json:"content"`
}

// The roles of the wire. The system's is known to few models.
const (
	roleUser      = "user"
	roleAssistant = "assistant"
	roleSystem    = "system"
)

// conversation gathers the wire messages. Roles alternate: what one side says in a row is one message. Results must
// follow their calls at once, so that an instruction between them waits.
type conversation struct {
	d           Dialect
	opt         options
	out         []message
	updates     wire.PendingUpdates
	attachments []block         // what the user shows of the answer before, behind the results of its calls
	paused      map[string]bool // the provider's calls whose results the next answer brings
}

func (d Dialect) encodeMessages(req *llm.Request, opt options) []message {
	c := conversation{d: d, opt: opt, paused: map[string]bool{}}
	marks := opt.messageBreakpoints(req)
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
		if slices.Contains(marks, i) && len(c.out) > 0 {
			markLast(c.out[len(c.out)-1].Content, opt.ttl)
		}
	}
	c.addPending()
	c.closeConversation()
	return c.out
}

// nextRole is who speaks next; instructions speak for nobody.
func nextRole(rest []llm.Message) llm.Role {
	for _, m := range rest {
		if m.Role != llm.RoleSystem {
			return m.Role
		}
	}
	return ""
}

// add adds to the conversation; more of the same side joins its message.
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

// addUpdate places a chronological instruction: in its own role where the model knows that and it stands between a
// user's message and an answer, else as text of the user's.
func (c *conversation) addUpdate(parts []llm.Part, next llm.Role) {
	n := len(c.out)
	if c.d.SystemMessages && !c.updates.IsWaiting() && len(c.attachments) == 0 && n > 0 && c.out[n-1].Role != roleAssistant && (next == "" || next == llm.RoleAssistant) {
		c.add(roleSystem, plainTexts(parts)...)
		return
	}
	if c.updates.Add(parts) {
		c.addPending()
	}
}

func plainTexts(parts []llm.Part) []block {
	var out []block
	for _, p := range parts {
		if t, ok := p.(llm.Text); ok {
			if b, ok := textBlock(t.Text); ok {
				out = append(out, b)
			}
		}
	}
	return out
}

// addPending says what waited for the results of calls.
func (c *conversation) addPending() {
	c.add(roleUser, c.attachments...)
	c.attachments = nil
	for _, text := range c.updates.TakeTexts() {
		c.add(roleUser, noteBlock(text))
	}
}

func (c *conversation) addResults(parts []llm.Part) {
	for _, p := range parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
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
			if b, ok := reasoningBlock(p); ok && !c.opt.noReasoning {
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
	c.add(roleAssistant, callsLast(out)...)
}

// reasoningBlock returns earlier thoughts as the provider signed them. Without a signature it would refuse them.
func reasoningBlock(p llm.Reasoning) (block, bool) {
	kept := wire.ReadMetadata(p.Metadata, namespace)
	if data := wire.DecodeString(kept[wire.KeyRedacted]); data != "" {
		return block{Type: "redacted_thinking", Data: data}, true
	}
	text := strings.ToValidUTF8(p.Text, "\uFFFD")
	signature := wire.DecodeString(kept[wire.KeySignature])
	return block{Type: "thinking", Thinking: &text, Signature: signature}, signature != ""
}

// findResult finds the result of a hosted call in what follows it.
func findResult(id string, rest []llm.Part) *llm.ToolResult {
	for _, p := range rest {
		if r, ok := p.(llm.ToolResult); ok && r.ID == id {
			return &r
		}
	}
	return nil
}

// callsLast moves the local calls behind what else an answer says: the protocol wants their results next. Thoughts
// between calls are left where the model had them, because it has signed them so.
func callsLast(blocks []block) []block {
	isCall := func(b block) bool { return b.Type == "tool_use" }
	first := slices.IndexFunc(blocks, isCall)
	if first < 0 || slices.ContainsFunc(blocks[first:], func(b block) bool { return strings.HasSuffix(b.Type, "thinking") }) {
		return blocks
	}
	slices.SortStableFunc(blocks[first:], func(a, b block) int {
		switch {
		case isCall(a) == isCall(b):
			return 0
		case isCall(b):
			return -1
		default:
			return 1
		}
	})
	return blocks
}

// closeConversation sees to the end of the conversation. A model goes on with its own answer only where a tool of the provider's
// paused it; else it is told to go on. Space at the end of an answer is refused.
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
