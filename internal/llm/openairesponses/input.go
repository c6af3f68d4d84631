package openairesponses

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/llm"
	"github.com/cairn-dev/cairn/internal/llm/wire"
)

// The items of the input.
type (
	message struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
		Phase   jsontext.Value `json:"phase,omitzero"`
	}
	functionCall struct {
		Type      string `json:"type"`
		CallID    string `json:"call_id"`
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	}
	callOutput struct {
		Type   string         `json:"type"`
		CallID string         `json:"call_id"`
		Output jsontext.Value `json:"output"`
	}
	reasoning struct {
		Type      string         `json:"type"`
		Encrypted jsontext.Value `json:"encrypted_content"`
		Summary   []part         `json:"summary"`
	}
	madeImage struct {
		Type   string `json:"type"`
		ID     string `json:"id"`
		Status string `json:"status"`
		Result string `json:"result"`
	}
	reference struct {
		Type string `json:"type"`
		ID   string `json:"id"`
	}
)

// conversation collects the input items. The results of one answer's calls must be consecutive, so content between them
// waits.
type conversation struct {
	d           Dialect
	store       bool
	out         []jsontext.Value
	user        []part // the content of the last item while it is an open user message
	attachments []part // images of the previous answer, sent by the user after the results of its calls
	updates     wire.PendingUpdates
	referenced  map[string]bool // items that are referenced, each of which may be referenced once
}

func (d Dialect) encodeInput(req *llm.Request, store bool) []jsontext.Value {
	c := conversation{d: d, store: store, out: []jsontext.Value{}, referenced: map[string]bool{}}
	if len(req.System) > 0 {
		c.add(message{Role: "system", Content: wire.Quote(strings.Join(req.System, "\n"))})
	}
	for _, m := range req.Messages {
		switch m.Role {
		case llm.RoleSystem:
			if c.updates.Add(m.Parts) {
				c.addPending()
			}
		case llm.RoleUser:
			c.addPending()
			c.addUser(contentParts(m.Parts))
		case llm.RoleAssistant:
			c.addPending()
			c.addAssistant(m.Parts)
		case llm.RoleTool:
			c.addResults(m.Parts)
		}
	}
	c.addPending()
	c.closeUser()
	return c.out
}

func (c *conversation) add(item any) {
	c.closeUser()
	c.out = append(c.out, wire.MarshalOr(item, jsontext.Value(`{"role":"user","content":"[unreadable]"}`)))
}

// addUser appends a user message and leaves it open, so that an update can join it.
func (c *conversation) addUser(parts []part) {
	if len(parts) == 0 {
		return
	}
	c.closeUser()
	c.user = parts
}

func (c *conversation) closeUser() {
	if c.user == nil {
		return
	}
	parts := c.user
	c.user = nil
	c.add(message{Role: "user", Content: wire.MarshalOr(parts, nil)})
}

// addPending ends a list of results: attachments follow, then the updates that waited.
func (c *conversation) addPending() {
	c.addUser(c.attachments)
	c.attachments = nil
	for _, text := range c.updates.TakeTexts() {
		if c.user == nil {
			c.addUser([]part{textPart(text)})
			continue
		}
		c.user = append(c.user, textPart(text))
	}
}

func (c *conversation) addResults(parts []llm.Part) {
	for r := range llm.PartsOf[llm.ToolResult](parts) {
		c.add(callOutput{Type: "function_call_output", CallID: wire.NormalizeID(r.ID), Output: encodeOutput(r)})
		c.updates.MarkAnswered()
	}
}

// answerItems are the items of one assistant message.
type answerItems struct {
	*conversation
	thoughts map[string]int // the index in items of each item's reasoning
	items    []any
	calls    int // calls without a result
}

// addAssistant adds the items of an answer in order. Reasoning at the end of an answer is dropped: the vendor refuses
// reasoning without what it led to.
func (c *conversation) addAssistant(parts []llm.Part) {
	a := answerItems{conversation: c, thoughts: map[string]int{}}
	for _, p := range parts {
		a.addPart(p)
	}
	a.items = slices.DeleteFunc(a.items, func(item any) bool {
		r, ok := item.(*reasoning)
		return ok && r.Encrypted == nil
	})
	for n := len(a.items); n > 0; n = len(a.items) {
		if _, ok := a.items[n-1].(*reasoning); !ok {
			break
		}
		a.items = a.items[:n-1]
	}
	for _, item := range a.items {
		c.add(item)
	}
	c.updates.AddCalls(a.calls)
}

func (a *answerItems) addPart(p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		a.addTextPart(p)
	case llm.Reasoning:
		a.addReasoning(p)
	case llm.ToolCall:
		a.addCall(p)
	case llm.ToolResult:
		a.addResult(p)
	case llm.Media:
		a.addText(wire.MediaURLNote(p), nil)
	}
}

// addText appends text to the last message, or begins one.
func (a *answerItems) addText(text string, phase jsontext.Value) {
	if text != "" {
		parts := []part{{Type: "output_text", Text: &text}}
		a.items = append(a.items, message{Role: "assistant", Content: wire.MarshalOr(parts, nil), Phase: phase})
	}
}

func (a *answerItems) addTextPart(p llm.Text) {
	if a.store && a.addReference(a.itemID(p.Metadata)) {
		return
	}
	a.addText(p.Text, wire.ReadMetadata(p.Metadata, a.d.metadataNamespace())[keyPhase])
}

// addReasoning adds reasoning: as a reference if the vendor stores it, else in its encrypted form, with the parts of
// one item together.
func (a *answerItems) addReasoning(p llm.Reasoning) {
	id := a.itemID(p.Metadata)
	if id == "" || (a.store && a.addReference(id)) {
		return
	}
	at, known := a.thoughts[id]
	if !known {
		at = len(a.items)
		a.items = append(a.items, &reasoning{Type: "reasoning", Summary: []part{}})
	}
	if isLate := wire.ReadMetadata(p.Metadata, a.d.metadataNamespace())[keyLate] != nil; isLate && !known {
		a.items = append(a.items[at:], a.items[:at]...) // it led to all of the answer
		for other := range a.thoughts {
			a.thoughts[other]++
		}
		at = 0
	}
	a.thoughts[id] = at
	r, _ := a.items[at].(*reasoning)
	if p.Text != "" {
		r.Summary = append(r.Summary, part{Type: "summary_text", Text: &p.Text})
	}
	if v := wire.ReadMetadata(p.Metadata, a.d.metadataNamespace())[keyEncrypted]; wire.IsNonEmptyString(v) {
		r.Encrypted = v
	}
}

// addCall adds a call. A hosted call is a reference if the vendor stores it; else only the answer's text mentions it.
func (a *answerItems) addCall(p llm.ToolCall) {
	id := a.itemID(p.Metadata)
	switch {
	case p.Hosted && id == "":
		a.addText(wire.HostedCallNote(p), nil)
	case p.Hosted && a.store:
		a.addReference(id)
	case p.Hosted:
	case a.store && a.addReference(id):
		a.calls++
	default:
		a.calls++
		a.items = append(a.items, functionCall{
			Type: "function_call", CallID: wire.NormalizeID(p.ID), Name: wire.NormalizeToolName(p.Name),
			Arguments: string(wire.NormalizeInput(p.Input)),
		})
	}
}

// addResult adds the result of a hosted call. If the vendor does not store it, only an image is sent.
func (a *answerItems) addResult(p llm.ToolResult) {
	id := a.itemID(p.Metadata)
	if id == "" {
		text, media := splitResult(p)
		if media {
			text = wire.AttachmentFollows
		}
		a.addText(wire.HostedResultNote(p, text), nil)
		a.attachments = append(a.attachments, contentParts(wire.AttachmentParts(p))...)
		return
	}
	for m := range llm.PartsOf[llm.Media](p.Content) {
		if !a.store && p.Name == llm.ImageTool {
			a.items = append(
				a.items, madeImage{"image_generation_call", id, "completed", base64.StdEncoding.EncodeToString(m.Data)},
			)
			return
		}
	}
}

// addReference adds a reference to a stored item, once. It reports whether there is such an item.
func (a *answerItems) addReference(id string) bool {
	if id == "" {
		return false
	}
	if !a.referenced[id] {
		a.referenced[id] = true
		a.items = append(a.items, reference{Type: "item_reference", ID: id})
	}
	return true
}

func (a *answerItems) itemID(m llm.Metadata) string {
	return wire.DecodeString(wire.ReadMetadata(m, a.d.metadataNamespace())[keyItem])
}
