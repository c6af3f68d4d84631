package opencode

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/session"
)

// PromptInput is a client's prompt.
type PromptInput struct {
	MessageID session.MessageID `json:"messageID,omitzero"`
	Model     *Model            `json:"model,omitzero"`
	Agent     string            `json:"agent,omitzero"`
	NoReply   bool              `json:"noReply,omitzero"`
	Tools     ToolSwitches      `json:"tools,omitzero"`   // permissions, in the form of older clients
	Variant   string            `json:"variant,omitzero"` // variant of the answering model, also if Model is nil
	Format    *Format           `json:"format,omitzero"`
	System    string            `json:"system,omitzero"`
	Parts     *[]PartInput      `json:"parts"`
}

// PartInput is one part of a prompt. Which members apply depends on the type.
type PartInput struct {
	ID        session.PartID `json:"id"`
	Type      string         `json:"type"`
	Text      *string        `json:"text"`
	Synthetic bool           `json:"synthetic"`
	Ignored   bool           `json:"ignored"`
	Time      jsontext.Value `json:"time"`
	Metadata  jsontext.Value `json:"metadata"`
	Mime      string         `json:"mime"`
	Filename  string         `json:"filename"`
	URL       string         `json:"url"`
	Name      string         `json:"name"`
	Source    jsontext.Value `json:"source"`

	Prompt      *string `json:"prompt"`
	Description *string `json:"description"`
	Agent       string  `json:"agent"`
	Model       *Model  `json:"model"`
	Command     string  `json:"command"`

	reading []session.PartID // ids of the texts shown before a file
	hint    session.PartID   // id of the text shown after an agent
}

// Prompt converts the input. newPart creates ids that the client did not supply.
func (in *PromptInput) Prompt(newPart func() session.PartID) (p session.Prompt, err error) {
	p.Agent, p.System = in.Agent, in.System
	if m := in.Model; m != nil {
		p.Model = &session.ModelRef{ID: m.ModelID, ProviderID: m.ProviderID, Variant: m.Variant}
	}
	if p.Format, err = in.Format.toFormat(); err != nil {
		return p, err
	}
	if in.Parts == nil {
		return p, session.Errorf(session.CodeInvalid, "Missing key").At("parts")
	}
	for i, part := range *in.Parts {
		part.assignIDs(newPart)
		if err := part.appendTo(&p, fmt.Sprintf("parts[%d]", i)); err != nil {
			return p, err
		}
	}
	return p, nil
}

// assignIDs sets missing ids. Texts that are shown before a file get their ids first; if the client named the part,
// those of its texts are derived from that id, so that repeating the prompt gives the same prompt.
func (in *PartInput) assignIDs(newPart func() session.PartID) {
	switch {
	case in.Type == string(session.PartAgent) && in.ID != "":
		in.hint = derivePartID(string(in.ID), 0)
	case in.Type == string(session.PartAgent):
		in.ID, in.hint = newPart(), newPart()
	case in.Type != string(session.PartFile):
	case in.ID == "":
		in.reading = []session.PartID{newPart(), newPart()}
	default:
		in.reading = []session.PartID{derivePartID(string(in.ID), 0), derivePartID(string(in.ID), 1)}
	}
	if in.ID == "" {
		in.ID = newPart()
	}
}

// MergeRules returns the session's rules followed by one rule for each of the input's tools. It removes earlier rules
// that cover all resources of one of these tools.
func (in *PromptInput) MergeRules(own []session.Rule) []session.Rule {
	rules := slices.DeleteFunc(slices.Clone(own), func(r session.Rule) bool {
		replaced := slices.ContainsFunc(in.Tools, func(s ToolSwitch) bool { return s.Name == r.Action })
		return replaced && r.Resource == "*"
	})
	for _, s := range in.Tools {
		effect := session.Deny
		if s.IsOn {
			effect = session.Allow
		}
		rules = append(rules, session.Rule{Action: s.Name, Resource: "*", Effect: effect})
	}
	return rules
}

// ToolSwitches are an object of tools and whether they may be used. They keep the order of its members, since the last
// one that matches decides.
type ToolSwitches []ToolSwitch

// ToolSwitch is a tool, or a pattern of tools, and whether it may be used.
type ToolSwitch struct {
	Name string
	IsOn bool
}

// ListOff returns those that may not be used.
func (t ToolSwitches) ListOff() ToolSwitches {
	return slices.DeleteFunc(slices.Clone(t), func(s ToolSwitch) bool { return s.IsOn })
}

// UnmarshalJSONFrom reads an object of booleans, or null.
func (t *ToolSwitches) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	*t = nil
	open, err := dec.ReadToken()
	if err != nil || open.Kind() == 'n' {
		return err
	}
	if open.Kind() != '{' {
		return errors.New("want an object of booleans")
	}
	for dec.PeekKind() == '"' {
		var s ToolSwitch
		if err := json.UnmarshalDecode(dec, &s.Name); err != nil {
			return err
		}
		if err := json.UnmarshalDecode(dec, &s.IsOn); err != nil {
			return err
		}
		*t = append(*t, s)
	}
	_, err = dec.ReadToken()
	return err
}

// appendTo appends the part to the prompt. Texts for the model are separated by newlines.
func (in PartInput) appendTo(p *session.Prompt, at string) error {
	part := session.PromptPart{ID: in.ID, Type: session.PartType(in.Type)}
	more := map[string]any{}
	if err := in.checkObjects(at); err != nil {
		return err
	}
	// A part adds to one list of the prompt and remembers its place there.
	switch part.Type {
	case session.PartText:
		if in.Text == nil {
			return session.Errorf(session.CodeInvalid, "Missing key").At(at + ".text")
		}
		part.Index, part.Length = appendText(p, *in.Text, in.Ignored)
		in.noteText(more)
	case session.PartFile:
		if in.URL == "" || in.Mime == "" {
			return session.Errorf(session.CodeInvalid, "a file requires mime and url").At(at)
		}
		if u, err := url.Parse(in.URL); err == nil && u.Scheme == "" {
			return session.Errorf(session.CodeInvalid,
				"the URL of a file must begin with data:, file: or the like, got %.40q", in.URL).
				At(at + ".url")
		}
		part.Index = len(p.Files)
		p.Files = append(p.Files, session.File{URI: in.URL, Mime: in.Mime, Name: in.Filename})
		setObject(more, "source", in.Source)
		if page, ok := pageOf(in); ok && in.reading != nil {
			more["reading"] = attachmentText{in.reading, page}
		}
	case session.PartAgent:
		if in.Name == "" {
			return session.Errorf(session.CodeInvalid, "Missing key").At(at + ".name")
		}
		part.Index = len(p.Agents)
		p.Agents = append(p.Agents, session.AgentMention{Name: in.Name, Source: spanOf(in.Source)})
		if in.hint != "" {
			more["hint"] = in.hint
		}
	case session.PartSubtask:
		t, err := in.toSubtask(at)
		if err != nil {
			return err
		}
		part.Index = len(p.Subtasks)
		p.Subtasks = append(p.Subtasks, t)
	default:
		return session.Errorf(session.CodeInvalid,
			"the type of a part must be text, file, agent or subtask, got %q", in.Type).At(at + ".type")
	}
	// What only V1 knows of the part is stored with it.
	if len(more) > 0 {
		b, err := json.Marshal(more, json.Deterministic(true))
		if err != nil {
			return session.Errorf(session.CodeInvalid, "the part cannot be stored").At(at).Because(err)
		}
		part.Extra = b
	}
	p.Parts = append(p.Parts, part)
	return nil
}

// toSubtask returns the part as a subtask.
func (in PartInput) toSubtask(at string) (session.Subtask, error) {
	for name, missing := range map[string]bool{
		"prompt": in.Prompt == nil, "description": in.Description == nil, "agent": in.Agent == "",
	} {
		if missing {
			return session.Subtask{}, session.Errorf(session.CodeInvalid, "Missing key").At(at + "." + name)
		}
	}
	t := session.Subtask{Agent: in.Agent, Prompt: *in.Prompt, Description: *in.Description, Command: in.Command}
	if m := in.Model; m != nil {
		t.Model = &session.ModelRef{ID: m.ModelID, ProviderID: m.ProviderID, Variant: m.Variant}
	}
	return t, nil
}

// appendText appends text and returns its position in the prompt; ignored text is not appended.
func appendText(p *session.Prompt, text string, ignored bool) (index, length int) {
	if ignored {
		return 0, 0
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	if p.Text != "" {
		p.Text += "\n"
	}
	index = len(p.Text)
	p.Text += text
	return index, len(text)
}

// checkObjects refuses time, metadata and source values that are neither objects nor null.
func (in PartInput) checkObjects(at string) error {
	for name, v := range map[string]jsontext.Value{"time": in.Time, "metadata": in.Metadata, "source": in.Source} {
		if len(v) > 0 && v.Kind() != '{' && v.Kind() != 'n' {
			return session.Errorf(session.CodeInvalid, "%s must be an object", name).At(at + "." + name)
		}
	}
	return nil
}

// noteText collects the members of a text part that the prompt has no field for.
func (in PartInput) noteText(more map[string]any) {
	if in.Synthetic {
		more["synthetic"] = true
	}
	if in.Ignored {
		more["ignored"], more["text"] = true, *in.Text
	}
	setObject(more, "time", in.Time)
	setObject(more, "metadata", in.Metadata)
}

func setObject(more map[string]any, name string, v jsontext.Value) {
	if v.Kind() == '{' {
		more[name] = v
	}
}

// spanOf returns nil for a source without a position.
func spanOf(v jsontext.Value) *session.Span {
	var at MentionSpan
	if len(v) == 0 || json.Unmarshal(v, &at) != nil {
		return nil
	}
	return &session.Span{Start: at.Start, End: at.End, Text: at.Value}
}
