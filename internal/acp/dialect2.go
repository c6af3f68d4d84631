package acp

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// dialect2 is version 2 of the protocol: session/prompt is answered when the prompt is recorded, and updates of the
// state say when its work is over.
type dialect2 struct{ features clientFeatures }

func (dialect2) answersAtOnce() bool { return true }

func (dialect2) methods(a *agent) map[string]method {
	m := a.listSharedMethods()
	m["auth/login"] = answerBeside(a.authenticate)
	m["auth/logout"] = answerBeside(a.logOut)
	return m
}

func (d dialect2) initialize(o Options) any {
	r := v2.InitializeResponse{
		ProtocolVersion: 2,
		Info:            v2.Implementation{Name: "cairn", Title: "cairn", Version: nameVersion(o)},
		Capabilities: v2.AgentCapabilities{Session: &v2.SessionCapabilities{
			Delete: &v2.SessionDeleteCapabilities{}, Fork: &v2.SessionForkCapabilities{},
			MCP: &v2.MCPCapabilities{Stdio: &v2.MCPStdioCapabilities{}, Http: &v2.MCPHttpCapabilities{}},
			Prompt: &v2.PromptCapabilities{
				Image: &v2.PromptImageCapabilities{}, EmbeddedContext: &v2.PromptEmbeddedContextCapabilities{},
			},
		}},
		AuthMethods: []v2.AuthMethod{{Type: "agent", MethodID: loginID, Name: loginName, Description: loginText}},
	}
	if d.features.terminal {
		r.AuthMethods = append([]v2.AuthMethod{{
			Type: "terminal", MethodID: loginID + loginTerminal, Name: loginName, Description: loginText, Args: o.LoginCommand,
		}}, r.AuthMethods...)
	}
	return r
}

func (d dialect2) session(id session.ID, s sessionChoices) any {
	return v2.NewSessionResponse{SessionID: string(id), ConfigOptions: d.configOptions(s)}
}

func (d dialect2) choices(s sessionChoices) any {
	return v2.ResumeSessionResponse{ConfigOptions: d.configOptions(s)}
}

func (d dialect2) options(s sessionChoices) any {
	return v2.SetSessionConfigOptionResponse{ConfigOptions: d.configOptions(s)}
}

func (dialect2) configOptions(s sessionChoices) (out []v2.SessionConfigOption) {
	for _, o := range s.list() {
		one := v2.SessionConfigOption{
			ConfigID: o.id, Name: o.name, Category: v2.SessionConfigOptionCategory(o.category), Type: "select",
			CurrentValue: quote(o.current),
		}
		for _, c := range o.values {
			value := v2.SessionConfigSelectOption{Value: c.id, Name: c.name, Description: c.description}
			one.Options = append(one.Options, value)
		}
		out = append(out, one)
	}
	return out
}

func (d dialect2) update(id session.ID, u update, s sessionChoices) []any {
	one := d.encodeUpdate(u, s)
	if one == nil {
		return nil
	}
	return []any{v2.UpdateSessionNotification{SessionID: string(id), Update: one}}
}

// planID names the model's list of things to do, of which a session has one.
const planID = "todos"

// encodeUpdate returns the form of an update, nil for one that this version does not have.
func (d dialect2) encodeUpdate(u update, s sessionChoices) v2.SessionUpdate {
	// The conversation first, then the plan and settings, then texts for people and the state.
	switch u := u.(type) {
	case userText:
		m := v2.SessionUpdateUserMessage{SessionUpdate: "user_message", MessageID: u.messageID}
		for _, b := range u.content {
			m.Content = append(m.Content, d.block(b))
		}
		return m
	case agentText:
		return v2.SessionUpdateAgentMessageChunk{
			SessionUpdate: "agent_message_chunk", Content: d.block(block{text: u.text}), MessageID: u.messageID,
		}
	case thought:
		return v2.SessionUpdateAgentThoughtChunk{
			SessionUpdate: "agent_thought_chunk", Content: d.block(block{text: u.text}), MessageID: u.messageID,
		}
	case callUpdate:
		return v2.SessionUpdateToolCallUpdate{
			SessionUpdate: "tool_call_update", ToolCallID: u.id, Title: u.title, Name: u.tool, Kind: v2.ToolKind(u.kind),
			Status: v2.ToolCallStatus(u.status), Content: d.content(u.content), Locations: d.locations(u.paths),
			RawInput: u.rawInput, RawOutput: u.rawOutput,
		}
	case plan:
		p := v2.SessionUpdatePlanUpdate{SessionUpdate: "plan_update", Plan: v2.PlanUpdateContent{
			Type: "items", PlanID: planID, Entries: []v2.PlanEntry{}, // an empty plan takes the earlier one away
		}}
		for _, t := range u.todos {
			p.Plan.Entries = append(p.Plan.Entries, v2.PlanEntry{
				Content: t.Content, Priority: v2.PlanEntryPriority(t.Priority), Status: v2.PlanEntryStatus(t.Status),
			})
		}
		return p
	case agentChanged, modelChanged:
		return v2.SessionUpdateConfigOptionUpdate{SessionUpdate: "config_option_update", ConfigOptions: d.configOptions(s)}
	case titleChanged:
		return v2.SessionUpdateSessionInfoUpdate{SessionUpdate: "session_info_update", Title: u.title}
	case usage:
		if u.size == 0 {
			return nil
		}
		return v2.SessionUpdateUsageUpdate{
			SessionUpdate: "usage_update", Used: u.used, Size: u.size,
			Cost: &v2.Cost{Amount: u.cost.Dollars(), Currency: "USD"},
		}
	case notice:
		return v2.SessionUpdateNotice{
			SessionUpdate: "notice", Title: u.title, Description: u.text, Severity: v2.NoticeSeverityInfo,
		}
	case commandList:
		list := v2.SessionUpdateAvailableCommandsUpdate{SessionUpdate: "available_commands_update"}
		for _, c := range u.commands {
			one := v2.AvailableCommand{Type: "command", Name: c.name, Description: c.description}
			if c.hint != "" {
				one.Input = &v2.AvailableCommandInput{Type: "text", Hint: c.hint}
			}
			list.AvailableCommands = append(list.AvailableCommands, one)
		}
		return list
	case stateChanged:
		out := v2.SessionUpdateStateUpdate{SessionUpdate: "state_update", State: string(u.state)}
		switch {
		case u.state != stateIdle:
		case u.why != nil:
			out.StopReason = quote("error")
			out.Error = &v2.Error{Code: jsontext.Value(strconv.Itoa(u.why.Code)), Message: u.why.Message}
		case u.stop != "":
			out.StopReason = quote(string(u.stop))
		}
		return out
	}
	return nil
}

func (dialect2) block(b block) v2.ContentBlock {
	switch {
	case b.data != "":
		return v2.ContentBlock{Type: "image", Data: b.data, MimeType: b.mediaType}
	case b.uri != "":
		return v2.ContentBlock{Type: "resource_link", URI: b.uri, Name: deriveName(b.uri, b.name), MimeType: b.mediaType}
	default:
		return v2.ContentBlock{Type: "text", Text: b.text}
	}
}

func (d dialect2) content(list []callContent) (out []v2.ToolCallContent) {
	for _, c := range list {
		if c.diff == nil {
			out = append(out, v2.ToolCallContentContent{Type: "content", Content: d.block(c.block)})
			continue
		}
		change := v2.DiffChange{Operation: "modify", Path: c.diff.path, OldPath: c.diff.moved}
		switch c.diff.kind {
		case "add", "delete":
			change.Operation = c.diff.kind
		case "move":
			change.Operation = "move"
		}
		out = append(out, v2.ToolCallContentDiff{Type: "diff", Changes: []v2.DiffChange{change}, Patch: newPatch(c.diff)})
	}
	return out
}

// newPatch returns the change as a patch in git's form, with absolute paths; nil without its lines.
func newPatch(d *fileDiff) *v2.DiffPatch {
	i := strings.Index(d.patch, "\n@@ ")
	if i < 0 {
		return nil
	}
	before, after := cmp.Or(d.moved, d.path), d.path
	text := "diff --git " + before + " " + after + "\n"
	switch d.kind {
	case "add":
		before = "/dev/null"
	case "delete":
		after = "/dev/null"
	}
	text += "--- " + before + "\n+++ " + after + d.patch[i:]
	return &v2.DiffPatch{Format: v2.DiffPatchFormatGitPatch, Text: text}
}

func (dialect2) locations(paths []string) (out []v2.ToolCallLocation) {
	for _, p := range paths {
		out = append(out, v2.ToolCallLocation{Path: p})
	}
	return out
}

func (d dialect2) permission(id session.ID, title string, call callUpdate, options []permissionOption) any {
	r := v2.RequestPermissionRequest{
		SessionID: string(id), Title: title,
		Subject: &v2.RequestPermissionSubject{Type: "tool_call", ToolCall: v2.ToolCallUpdate{
			ToolCallID: call.id, Title: call.title, Kind: v2.ToolKind(call.kind), Status: v2.ToolCallStatus(call.status),
			Content: d.content(call.content), RawInput: call.rawInput,
		}},
	}
	for _, o := range options {
		r.Options = append(r.Options, v2.PermissionOption{
			OptionID: o.id, Name: o.name, Kind: v2.PermissionOptionKind(o.kind),
		})
	}
	return r
}
