package hook

import (
	"context"
	"errors"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/extension"
	"github.com/cairn-dev/cairn/internal/session"
)

// connect sets the functions of the points that the hook's event stands for. Before calls and prompts a hook guards: one
// that fails refuses them. Everywhere else its failure changes nothing.
func (c *command) connect(e *extension.Extension) {
	e.Lenient = true
	switch c.Event {
	case "PreToolUse":
		e.Call, e.Lenient = c.seeCall, false
	case "UserPromptSubmit":
		e.Prompt, e.Lenient = c.seePrompt, false
	case "PostToolUse":
		e.Result = c.seeResult
	case "PermissionRequest":
		e.Permission = c.seePermission
	case "Stop", "SubagentStop":
		e.Stop = c.seeStop
	case "PreCompact":
		e.Compaction = c.seeCompaction
	default:
		e.Event = c.seeEvent
	}
}

// Input is the JSON object that a hook gets. Which members it has depends on its event.
type Input struct {
	SessionID  session.ID `json:"session_id"`
	Transcript string     `json:"transcript_path"` // always empty: sessions have no such file
	Directory  string     `json:"cwd"`
	Event      string     `json:"hook_event_name"`
	Mode       string     `json:"permission_mode,omitzero"`

	Tool     string         `json:"tool_name,omitzero"`
	Input    jsontext.Value `json:"tool_input,omitzero"`
	Response jsontext.Value `json:"tool_response,omitzero"`
	CallID   string         `json:"tool_use_id,omitzero"`

	Prompt       *string `json:"prompt,omitzero"`
	StopActive   *bool   `json:"stop_hook_active,omitzero"`
	Last         *string `json:"last_assistant_message,omitzero"`
	AgentID      string  `json:"agent_id,omitzero"`
	AgentType    string  `json:"agent_type,omitzero"`
	Trigger      string  `json:"trigger,omitzero"`
	Instructions *string `json:"custom_instructions,omitzero"`
	Summary      string  `json:"compact_summary,omitzero"`
	Source       string  `json:"source,omitzero"`
	Cause        string  `json:"reason,omitzero"`
	Message      string  `json:"message,omitzero"`
	Notification string  `json:"notification_type,omitzero"`
}

// ask runs the hook with the input and returns what it decides. What it has to say to people, and a failure that decides
// nothing, is shown and logged.
func (c *command) ask(ctx context.Context, in Input) (Verdict, error) {
	in.Event, in.Directory = c.Event, c.set.options.Directory
	run, err := c.run(ctx, encode(in))
	if err != nil {
		c.show(in.SessionID, "it failed: "+err.Error())
		return Verdict{}, err
	}
	v, err := Judge(c.Event, run)
	if err != nil {
		c.show(in.SessionID, "it failed: "+err.Error())
		return v, err
	}
	if v.Message != "" {
		c.show(in.SessionID, v.Message)
	}
	return v, nil
}

// show shows a text to people.
func (c *command) show(id session.ID, text string) {
	text = session.ClipText(strings.TrimSpace(text), maxShown)
	c.set.options.Logger.Warn("a hook has a message", "hook", c.ID, "session", id, "message", text)
	c.set.options.Show(id, c.ID, text)
}

// maxShown bounds the bytes of a message to people; maxContext that of a text for the model.
const (
	maxShown   = 2000
	maxContext = 64 << 10
)

// join returns two texts with a line between them.
func join(a, b string) string {
	return strings.TrimSpace(a + "\n" + session.ClipText(strings.TrimSpace(b), maxContext))
}

// permissionMode returns Claude Code's name of the mode of an agent.
func permissionMode(agent string) string {
	if agent == "plan" {
		return "plan"
	}
	return "default"
}

// seeCall shows a call before it runs. A patch is shown once for each file that it changes, until one is refused.
func (c *command) seeCall(ctx context.Context, v *extension.Call) error {
	if !c.Matcher.Matches(c.set.matchedNames(v.Tool)...) {
		return nil
	}
	inputs, ok := c.set.splitInput(v.Tool, v.Input)
	if !ok {
		v.Effect, v.Reason = session.Deny, "the patch changes too many files to show each of them to hooks"
		return nil
	}
	for _, input := range inputs {
		verdict, err := c.ask(ctx, Input{
			SessionID: v.SessionID, Mode: permissionMode(v.Agent), Tool: c.set.claudeName(v.Tool), Input: input,
			CallID: v.CallID,
		})
		if err != nil {
			return err
		}
		if isStricter(verdict.Effect, v.Effect) {
			v.Effect, v.Reason = verdict.Effect, verdict.Reason
		}
		if len(verdict.Input) > 0 && len(inputs) == 1 {
			v.Input = restoreInput(v.Tool, verdict.Input)
		}
		v.Context = join(v.Context, verdict.Context)
		if verdict.Halt != "" {
			v.Effect, v.Reason, v.Halt = session.Deny, verdict.Halt, verdict.Halt
		}
		if v.Effect == session.Deny {
			break
		}
	}
	return nil
}

// isStricter reports whether the effect a takes the place of b: "" decides nothing.
func isStricter(a, b session.Effect) bool {
	rank := map[session.Effect]int{session.Allow: 1, session.Ask: 2, session.Deny: 3}
	return rank[a] > rank[b]
}

// seeResult shows the result of a call. What the hook says is added to the result.
func (c *command) seeResult(ctx context.Context, v *extension.Result) error {
	if !c.Matcher.Matches(c.set.matchedNames(v.Tool)...) {
		return nil
	}
	verdict, err := c.ask(ctx, Input{
		SessionID: v.SessionID, Mode: permissionMode(v.Agent), Tool: c.set.claudeName(v.Tool),
		Input: c.set.translateInput(v.Tool, v.Input), Response: c.set.describeResult(v), CallID: v.CallID,
	})
	if err != nil {
		return err
	}
	text := verdict.Context
	if verdict.Block {
		text = join(verdict.Reason, text)
	}
	if text = session.ClipText(text, maxContext); text != "" {
		v.Content = append(append([]session.ToolContent{}, v.Content...), session.ToolContent{Type: "text", Text: text})
	}
	v.Halt = verdict.Halt
	return nil
}

// describeResult returns the result in the form that Claude Code has for the tool, as far as hooks look at it.
func (s *Set) describeResult(v *extension.Result) jsontext.Value {
	var texts []string
	for _, c := range v.Content {
		if c.Type == "text" {
			texts = append(texts, c.Text)
		}
	}
	text := strings.Join(texts, "\n")
	if v.Tool == "bash" {
		return encode(map[string]any{"stdout": text, "stderr": "", "interrupted": false, "isImage": false})
	}
	out := map[string]jsontext.Value{"success": encode(true), "content": encode(text)}
	var in struct {
		FilePath string `json:"filePath"`
	}
	if json.Unmarshal(v.Input, &in) == nil && in.FilePath != "" {
		out["filePath"] = encode(s.absolute(in.FilePath))
	}
	return encode(out)
}

// seePermission shows a request that a person would be asked.
func (c *command) seePermission(ctx context.Context, v *extension.Permission) error {
	if v.Effect != session.Ask || !c.Matcher.Matches(append(c.set.matchedNames(v.Tool), v.Action)...) {
		return nil
	}
	verdict, err := c.ask(ctx, Input{
		SessionID: v.SessionID, Mode: permissionMode(v.Agent), Tool: c.set.claudeName(v.Tool),
		Input: c.set.translateInput(v.Tool, v.Input), CallID: v.CallID,
	})
	if err != nil {
		return err // the person decides
	}
	if verdict.Effect != "" {
		v.Effect, v.Reason = verdict.Effect, verdict.Reason
	}
	if verdict.Halt != "" {
		v.Effect, v.Reason = session.Deny, verdict.Halt
	}
	return nil
}

// seePrompt shows a prompt of a caller. Context is added to the system text, so that the person's words stay.
func (c *command) seePrompt(ctx context.Context, v *extension.Prompt) error {
	if v.ParentID != "" { // of a subagent
		return nil
	}
	verdict, err := c.ask(ctx, Input{SessionID: v.SessionID, Mode: permissionMode(v.Prompt.Agent), Prompt: &v.Prompt.Text})
	if err != nil {
		return err
	}
	switch {
	case verdict.Halt != "":
		return errors.New(verdict.Halt)
	case verdict.Block:
		return errors.New(verdict.Reason)
	}
	v.Prompt.System = join(v.Prompt.System, verdict.Context)
	return nil
}

// seeStop shows the end of the work of a session, or of that of a subagent.
func (c *command) seeStop(ctx context.Context, v *extension.Stop) error {
	isSubagent := v.ParentID != ""
	if isSubagent != (c.Event == "SubagentStop") || isSubagent && !c.Matcher.Matches(v.Agent) {
		return nil
	}
	in := Input{SessionID: v.SessionID, Mode: permissionMode(v.Agent), StopActive: &v.Again, Last: &v.Text}
	if isSubagent {
		in.AgentID, in.AgentType = string(v.SessionID), v.Agent
	}
	verdict, err := c.ask(ctx, in)
	if err == nil && verdict.Block && verdict.Halt == "" {
		v.Continue = join(v.Continue, verdict.Reason)
	}
	return err
}

// seeCompaction shows a summary that is about to be written.
func (c *command) seeCompaction(ctx context.Context, v *extension.Compaction) error {
	trigger := extension.CauseAuto
	if v.Manual {
		trigger = extension.CauseManual
	}
	if !c.Matcher.Matches(trigger) {
		return nil
	}
	verdict, err := c.ask(ctx, Input{SessionID: v.SessionID, Trigger: trigger, Instructions: &v.Instructions})
	if err != nil {
		return err
	}
	if verdict.Block {
		v.Refuse = verdict.Reason
	}
	if verdict.Context != "" {
		v.Context = append(append([]string{}, v.Context...), session.ClipText(verdict.Context, maxContext))
	}
	return nil
}

// seeEvent tells the hook of what has happened, if that is its event.
func (c *command) seeEvent(ctx context.Context, v *extension.Event) error {
	in := Input{SessionID: v.SessionID}
	event, subject := "", v.Cause
	switch v.Type {
	case extension.EventSessionStarted:
		event, in.Source = "SessionStart", v.Cause
	case extension.EventSessionEnded:
		event, in.Cause = "SessionEnd", v.Cause
	case extension.EventSubagentStarted:
		event, subject = "SubagentStart", v.Agent
		in.AgentID, in.AgentType = string(v.SessionID), v.Agent
	case extension.EventCompacted:
		event, in.Trigger, in.Summary = "PostCompact", v.Cause, v.Text
	case extension.EventAsked:
		subject = "permission_prompt"
		if v.Cause == extension.CauseQuestion {
			subject = "elicitation_dialog"
		}
		event, in.Message, in.Notification = "Notification", v.Text, subject
	}
	if event != c.Event || !c.Matcher.Matches(subject) {
		return nil
	}
	_, err := c.ask(ctx, in)
	return err
}
