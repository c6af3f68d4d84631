package bedrock

import (
	"fmt"
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

const (
	roleUser      = "user"
	roleAssistant = "assistant"
)

// conversation gathers the wire messages. Roles alternate: what one side says in a row is one message. Results must
// follow their calls at once, so that instructions and media between them wait.
type conversation struct {
	d         Dialect
	out       []message
	waiting   int     // calls of the last message that have no result yet
	pending   []block // what follows the results
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

// messageBreakpoints are the messages that get a cache point, the latest if there are too many.
func (d Dialect) messageBreakpoints(req *llm.Request) []int {
	if !d.Caches {
		return nil
	}
	left := maxBreakpoints - min(req.Breakpoints.System, len(req.System), maxBreakpoints)
	return req.Breakpoints.Messages[max(0, len(req.Breakpoints.Messages)-left):]
}

// addCachePoint puts a cache point at the end of what is said so far. None stands after a thought.
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

// add adds to the conversation, which the user begins; more of the same side joins its message.
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

// How many images and documents a message may have.
const (
	maxImages    = 20
	maxDocuments = 5
)

// limitAttachments puts notes in the place of what is too many in a message.
func limitAttachments(blocks []block) {
	images, documents := 0, 0
	count := func(list []block) {
		for i := range list {
			switch b := &list[i]; {
			case b.Image != nil:
				if images++; images > maxImages {
					*b = noteBlock(fmt.Sprintf("[an image was left out: this model's interface takes %d of them in one message]", maxImages))
				}
			case b.Document != nil:
				if documents++; documents > maxDocuments {
					*b = noteBlock(fmt.Sprintf("[the document %q was left out: this model's interface takes %d of them in one message]", b.Document.Name, maxDocuments))
				}
			}
		}
	}
	for i := range blocks {
		if r := blocks[i].ToolResult; r != nil {
			count(r.Content)
		}
	}
	count(blocks)
}

// userBlocks are what a user says. A document does not stand without a text.
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

// addUpdate says a chronological instruction in a message of the user's.
func (c *conversation) addUpdate(parts []llm.Part) {
	if text := wire.FormatUpdate(parts); text != "" {
		c.pending = append(c.pending, noteBlock(text))
	}
}

// addPending says what waited for the results of calls.
func (c *conversation) addPending() {
	c.waiting = 0
	c.add(roleUser, c.pending...)
	c.pending = nil
}

func (c *conversation) addResults(parts []llm.Part) {
	for _, p := range parts {
		r, ok := p.(llm.ToolResult)
		if !ok {
			continue
		}
		c.add(roleUser, c.encodeResult(r))
		if c.waiting > 0 {
			c.waiting--
		}
	}
}

// encodeResult returns the outcome of a call. Documents, and images that the model does not take there, follow it.
func (c *conversation) encodeResult(r llm.ToolResult) block {
	out := toolResult{ID: encodeCallID(r.ID)}
	switch {
	case r.IsError:
		out.Status = "error"
	case c.d.Claude || c.d.Nova: // others do not know the field
		out.Status = "success"
	}
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
	if len(out.Content) == 0 && len(r.Raw) > 0 {
		out.Content = []block{noteBlock(string(r.Raw))}
	}
	switch {
	case len(out.Content) == 0 && attached:
		out.Content = []block{noteBlock("The attachments follow.")}
	case len(out.Content) == 0:
		out.Content = []block{noteBlock("(no output)")}
	}
	return block{ToolResult: &out}
}

// attach keeps a block for the user to show behind the results.
func (c *conversation) attach(b block) {
	if len(c.pending) == 0 {
		c.pending = append(c.pending, noteBlock("Attachments of the tool results above:"))
	}
	c.pending = append(c.pending, b)
}

func (c *conversation) addAssistant(parts []llm.Part) {
	var out []block
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if b, ok := textBlock(p.Text); ok {
				out = append(out, b)
			}
		case llm.Reasoning:
			if b, ok := reasoningBlock(p); ok {
				out = append(out, b)
			}
		case llm.ToolCall:
			if p.Hosted {
				out = append(out, noteBlock(wire.HostedCallNote(p)))
				continue
			}
			out = append(out, block{ToolUse: &toolUse{encodeCallID(p.ID), wire.NormalizeToolName(p.Name), wire.NormalizeInput(p.Input)}})
			c.waiting++
		case llm.ToolResult:
			out = append(out, noteBlock(wire.HostedResultNote(p, hostedText(p))))
			for _, m := range wire.ResultMedia(p) {
				c.attach(c.mediaBlock(m))
			}
		case llm.Media:
			out = append(out, c.mediaBlock(p))
		}
	}
	c.add(roleAssistant, callsLast(out)...)
}

func hostedText(r llm.ToolResult) string {
	var lines []string
	for _, p := range r.Content {
		if t, ok := p.(llm.Text); ok {
			lines = append(lines, t.Text)
		}
	}
	switch {
	case len(wire.ResultMedia(r)) > 0:
		lines = append(lines, wire.AttachmentFollows)
	case len(lines) == 0:
		return string(r.Raw)
	}
	return strings.Join(lines, "\n")
}

// callsLast moves the calls behind what else an answer says: the protocol wants their results next. Thoughts between
// calls are left where the model had them, because it has signed them so.
func callsLast(blocks []block) []block {
	isCall := func(b block) bool { return b.ToolUse != nil }
	first := slices.IndexFunc(blocks, isCall)
	if first < 0 || slices.ContainsFunc(blocks[first:], func(b block) bool { return b.Reasoning != nil }) {
		return blocks
	}
	others := slices.DeleteFunc(slices.Clone(blocks), isCall)
	calls := slices.DeleteFunc(slices.Clone(blocks), func(b block) bool { return !isCall(b) })
	return append(others, calls...)
}

// closeConversation sees to the end of the conversation, which is the user's.
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
