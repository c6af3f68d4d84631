package opencode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/session"
)

// CommandInput is a client's request to prompt a session with a command. Parts are files.
type CommandInput struct {
	MessageID session.MessageID `json:"messageID,omitzero"`
	Command   *string           `json:"command"`
	Arguments *string           `json:"arguments"`
	Agent     string            `json:"agent,omitzero"`
	Model     string            `json:"model,omitzero"` // provider/model
	Variant   string            `json:"variant,omitzero"`
	Parts     []PartInput       `json:"parts,omitzero"`
}

// Check returns a CodeInvalid error that names what is missing or malformed.
func (in *CommandInput) Check() error {
	switch {
	case in.Command == nil:
		return session.Errorf(session.CodeInvalid, "Missing key").At("command")
	case in.Arguments == nil:
		return session.Errorf(session.CodeInvalid, "Missing key").At("arguments")
	}
	if provider, model, ok := strings.Cut(in.Model, "/"); in.Model != "" && (!ok || provider == "" || model == "") {
		return session.Errorf(session.CodeInvalid, "a model must be like provider/model, got %.100q", in.Model).
			At("model")
	}
	for i, p := range in.Parts {
		if p.Type != string(session.PartFile) {
			return session.Errorf(session.CodeInvalid, "the parts of a command are files, got %.40q", p.Type).
				At(fmt.Sprintf("parts[%d].type", i))
		}
	}
	return nil
}

// Prompt combines the command's prompt with the client's files, and with the client's agent and model where the command
// leaves them open. newPart creates ids that the client did not supply.
func (in *CommandInput) Prompt(p session.Prompt, newPart func() session.PartID) (session.Prompt, error) {
	// Describe the command's own text, files and mentions as parts with new ids.
	p.Parts = defaultParts(&session.User{Text: p.Text, Files: p.Files, Agents: p.Agents, Subtasks: p.Subtasks})
	for i := range p.Parts {
		part := &p.Parts[i]
		if part.Type == session.PartFile {
			part.Extra = attachmentTextOf(p.Files[part.Index], newPart)
		}
		if part.ID = newPart(); part.Type == session.PartAgent {
			part.Extra = memberOf(nil, "hint", newPart())
		}
	}
	// The command's own model and agent win over those of the client.
	if provider, model, ok := strings.Cut(in.Model, "/"); ok && p.Model == nil {
		p.Model = &session.ModelRef{ID: model, ProviderID: provider}
	}
	if p.Agent == "" {
		p.Agent = in.Agent
	}
	// The client's files follow the parts of the command.
	for i, part := range in.Parts {
		part.assignIDs(newPart)
		if err := part.appendTo(&p, fmt.Sprintf("parts[%d]", i)); err != nil {
			return p, err
		}
	}
	if len(p.Subtasks) > 0 { // what the client attaches is for the subagent
		t := &p.Subtasks[0]
		t.Files, p.Files = append(t.Files, p.Files...), nil
		t.Agent, t.Model = cmp.Or(t.Agent, p.Agent), cmp.Or(t.Model, p.Model)
		p.Parts = slices.DeleteFunc(p.Parts, func(x session.PromptPart) bool { return x.Type == session.PartFile })
	}
	return p, nil
}

// PartPath returns a function that names the parts of the command's prompt as the client sent them; parts that the
// client did not send belong to the command.
func (in *CommandInput) PartPath(p session.Prompt) func(i int, member string) string {
	own := len(p.Parts) - len(in.Parts)
	return func(i int, member string) string {
		if i < own || len(p.Subtasks) > 0 {
			return "command"
		}
		return PartField(i-own, member)
	}
}

// CommandExecution belongs to command.executed: MessageID is the id of the answer.
type CommandExecution struct {
	Name      string            `json:"name"`
	SessionID session.ID        `json:"sessionID"`
	Arguments string            `json:"arguments"`
	MessageID session.MessageID `json:"messageID"`
}
