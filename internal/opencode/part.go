package opencode

import (
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// Part is one of the twelve kinds of parts, by pointer.
type Part interface{ asHead() *Head }

// Head has the members that all parts share.
type Head struct {
	ID        session.PartID    `json:"id"`
	SessionID session.ID        `json:"sessionID"`
	MessageID session.MessageID `json:"messageID"`
	Type      string            `json:"type"`
}

func (h *Head) asHead() *Head { return h }

// PartID returns the part's id.
func PartID(p Part) session.PartID { return p.asHead().ID }

// The parts of conversations.
type (
	// TextPart is text of the user, of the model, or, if Synthetic, of the system. Ignored text is not sent to the
	// model.
	TextPart struct {
		Head
		Text      string         `json:"text"`
		Synthetic bool           `json:"synthetic,omitzero"`
		Ignored   bool           `json:"ignored,omitzero"`
		Time      *Time          `json:"time,omitzero"`
		Metadata  jsontext.Value `json:"metadata,omitzero"`
	}
	// ReasoningPart is a model's reasoning.
	ReasoningPart struct {
		Head
		Text     string         `json:"text"`
		Time     Time           `json:"time"`
		Metadata jsontext.Value `json:"metadata,omitzero"`
	}
	// FilePart is an attachment.
	FilePart struct {
		Head
		Mime     string         `json:"mime"`
		Filename string         `json:"filename,omitzero"`
		URL      string         `json:"url"`
		Source   jsontext.Value `json:"source,omitzero"`
	}
	// AgentPart is the mention of an agent.
	AgentPart struct {
		Head
		Name   string       `json:"name"`
		Source *MentionSpan `json:"source,omitzero"`
	}
	// SubtaskPart is a task for a subagent.
	SubtaskPart struct {
		Head
		Prompt      string `json:"prompt"`
		Description string `json:"description"`
		Agent       string `json:"agent"`
		Model       *Model `json:"model,omitzero"`
		Command     string `json:"command,omitzero"`
	}
)

// Parts that frame a step, and markers.
type (
	// StepStartPart begins a step.
	StepStartPart struct {
		Head
		Snapshot string `json:"snapshot,omitzero"`
	}
	// StepFinishPart ends it.
	StepFinishPart struct {
		Head
		Reason   string      `json:"reason"`
		Snapshot string      `json:"snapshot,omitzero"`
		Cost     session.USD `json:"cost"`
		Tokens   Tokens      `json:"tokens"`
	}
	// PatchPart names the files that a step changed since the snapshot Hash.
	PatchPart struct {
		Head
		Hash  string   `json:"hash"`
		Files []string `json:"files"`
	}
	// SnapshotPart is a snapshot, sent by older servers.
	SnapshotPart struct {
		Head
		Snapshot string `json:"snapshot"`
	}
	// CompactionPart asks for a summary.
	CompactionPart struct {
		Head
		Auto        bool              `json:"auto"`
		Overflow    *bool             `json:"overflow,omitzero"`
		TailStartID session.MessageID `json:"tail_start_id,omitzero"`
	}
	// RetryPart is a failed attempt, sent by older servers.
	RetryPart struct {
		Head
		Attempt int          `json:"attempt"`
		Error   Error        `json:"error"`
		Time    CreationTime `json:"time"`
	}
)

// Time is the start and end of an item.
type Time struct {
	Start int64 `json:"start"`
	End   int64 `json:"end,omitzero"`
}

// MentionSpan is the position of a mention in the text.
type MentionSpan struct {
	Value string `json:"value"`
	Start int    `json:"start"`
	End   int    `json:"end"`
}

// promptParts returns a prompt's parts: as its caller split it, or its text, files and agents.
func promptParts(id session.ID, m *session.User) []Part {
	parts := m.Parts
	if len(parts) == 0 {
		parts = defaultParts(m)
	}
	out := make([]Part, 0, len(parts))
	for n, p := range parts {
		head := Head{ID: partIDOr(p.ID, m.ID, n), SessionID: id, MessageID: m.ID, Type: string(p.Type)}
		out = append(out, partsOfPiece(m, p, head)...)
	}
	return out
}

func defaultParts(m *session.User) (parts []session.PromptPart) {
	if m.Text != "" {
		parts = append(parts, session.PromptPart{Type: session.PartText, Length: len(m.Text)})
	}
	for i := range m.Files {
		parts = append(parts, session.PromptPart{Type: session.PartFile, Index: i})
	}
	for i := range m.Agents {
		parts = append(parts, session.PromptPart{Type: session.PartAgent, Index: i})
	}
	for i := range m.Subtasks {
		parts = append(parts, session.PromptPart{Type: session.PartSubtask, Index: i})
	}
	return parts
}

// partsOfPiece converts a piece of a prompt, after the text that was read for it. A piece that refers to nothing is
// omitted.
func partsOfPiece(m *session.User, p session.PromptPart, head Head) []Part {
	// The members that are stored with the piece, beside its reference.
	var more struct {
		Text      string         `json:"text"` // text that is not sent to the model
		Synthetic bool           `json:"synthetic"`
		Ignored   bool           `json:"ignored"`
		Time      *Time          `json:"time"`
		Metadata  jsontext.Value `json:"metadata"`
		Filename  *string        `json:"filename"`
		Source    jsontext.Value `json:"source"`
		Reading   attachmentText `json:"reading"`
		Hint      session.PartID `json:"hint"` // of the text that tells the model what to do with a mention
	}
	if len(p.Extra) > 0 {
		_ = json.Unmarshal(p.Extra, &more) // invalid members are omitted
	}
	// A piece refers to the prompt by index. Indexes are stored data, so each is checked.
	switch p.Type {
	case session.PartText:
		v := &TextPart{
			Head:      head,
			Text:      more.Text,
			Synthetic: more.Synthetic,
			Ignored:   more.Ignored,
			Time:      more.Time,
			Metadata:  more.Metadata,
		}
		if !more.Ignored && p.Index >= 0 && p.Length >= 0 && p.Index <= len(m.Text)-p.Length {
			v.Text = m.Text[p.Index:][:p.Length]
		}
		return []Part{v}
	case session.PartFile:
		if p.Index < 0 || p.Index >= len(m.Files) {
			return nil
		}
		f := m.Files[p.Index]
		return append(
			more.Reading.toParts(f, head),
			&FilePart{Head: head, Mime: f.Mime, Filename: f.Name, URL: f.URI, Source: more.Source},
		)
	case session.PartAgent:
		if p.Index < 0 || p.Index >= len(m.Agents) {
			return nil
		}
		a := m.Agents[p.Index]
		v := &AgentPart{Head: head, Name: a.Name}
		if a.Source != nil {
			v.Source = &MentionSpan{Value: a.Source.Text, Start: a.Source.Start, End: a.Source.End}
		}
		if more.Hint == "" {
			return []Part{v}
		}
		hint := &TextPart{Head: head, Text: session.MentionText(a), Synthetic: true}
		hint.ID, hint.Type = more.Hint, "text"
		return []Part{v, hint}
	case session.PartSubtask:
		if p.Index < 0 || p.Index >= len(m.Subtasks) {
			return nil
		}
		return []Part{subtaskPart(head, m.Subtasks[p.Index])}
	default:
		return nil
	}
}

func subtaskPart(head Head, t session.Subtask) Part {
	p := &SubtaskPart{
		Head: head, Prompt: t.Prompt, Description: t.Description, Agent: t.Agent, Command: t.Command,
	}
	if m := t.Model; m != nil {
		p.Model = &Model{ProviderID: m.ProviderID, ModelID: m.ID, Variant: variantOf(*m)}
	}
	return p
}

// stepParts returns the parts of a step: its start, its items, and its end.
func stepParts(s *session.Session, m *session.Assistant) []Part {
	id, out := s.ID, []Part{}
	if start := stepStart(id, m); start != nil {
		out = append(out, start)
	}
	for n, c := range m.Content {
		out = append(out, itemPart(id, m.ID, n+1, c))
	}
	if end := stepFinish(id, m); end != nil {
		out = append(out, end)
	}
	if p := patchPart(s, m); p != nil {
		out = append(out, p)
	}
	return out
}

// stepStart returns nil for a step that failed without content, and for one of subtasks.
func stepStart(id session.ID, m *session.Assistant) Part {
	if m.Subtasks || m.Error != nil && len(m.Content) == 0 {
		return nil
	}
	p := &StepStartPart{
		Head: Head{ID: partIDOr(m.StartID, m.ID, 0), SessionID: id, MessageID: m.ID, Type: "step-start"},
	}
	if m.Snapshot != nil {
		p.Snapshot = m.Snapshot.Start
	}
	return p
}

// stepFinish returns nil for a step that is open or failed, and for one of subtasks.
func stepFinish(id session.ID, m *session.Assistant) Part {
	if m.Subtasks || m.EndRemoved || m.Open() || m.Error != nil && !isDeclined(m) {
		return nil
	}
	p := &StepFinishPart{
		Head: Head{
			ID:        partIDOr(m.EndID, m.ID, len(m.Content)+1),
			SessionID: id,
			MessageID: m.ID,
			Type:      "step-finish",
		},
		Reason: finishOf(m.Finish),
	}
	if isDeclined(m) {
		p.Reason = "tool-calls"
	}
	if m.Cost != nil {
		p.Cost = *m.Cost
	}
	if m.Tokens != nil {
		p.Tokens = tokensOf(*m.Tokens)
	}
	if m.Snapshot != nil {
		p.Snapshot = m.Snapshot.End
	}
	return p
}

func hasPatch(m *session.Assistant) bool { return m.Snapshot != nil && len(m.Snapshot.Files) > 0 }

// patchPart returns nil for a step that changed no files.
func patchPart(s *session.Session, m *session.Assistant) Part {
	if m.EndRemoved || !hasPatch(m) {
		return nil
	}
	end := partIDOr(m.EndID, m.ID, len(m.Content)+1)
	p := &PatchPart{
		Head: Head{ID: partIDAfter(end), SessionID: s.ID, MessageID: m.ID, Type: "patch"},
		Hash: m.Snapshot.Start, Files: slices.Clone(m.Snapshot.Files),
	}
	for i, file := range p.Files {
		p.Files[i] = s.ResolveFile(file)
	}
	return p
}

// itemPart converts the n-th item of a step.
func itemPart(id session.ID, m session.MessageID, n int, c session.Content) Part {
	head := Head{ID: partIDOr(c.ItemID(), m, n), SessionID: id, MessageID: m}
	switch c := c.(type) {
	case *session.Text:
		head.Type = "text"
		return &TextPart{Head: head, Text: c.Text, Time: timeOf(c.Time), Metadata: c.Metadata}
	case *session.Reasoning:
		head.Type = "reasoning"
		p := &ReasoningPart{Head: head, Text: c.Text, Metadata: c.Metadata}
		if t := timeOf(c.Time); t != nil {
			p.Time = *t
		}
		return p
	default:
		head.Type = "tool"
		return toolPart(head, c.(*session.Tool))
	}
}

func timeOf(t *session.ItemTime) *Time {
	if t == nil {
		return nil
	}
	return &Time{Start: t.Created, End: t.Completed}
}
