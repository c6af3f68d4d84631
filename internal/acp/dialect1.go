package acp

import (
	v1 "github.com/cairn-dev/cairn/internal/acp/v1"
	"github.com/cairn-dev/cairn/internal/session"
)

// dialect1 is version 1 of the protocol: session/prompt is answered when the work is over.
type dialect1 struct{ features clientFeatures }

func (dialect1) answersAtOnce() bool { return false }

func (dialect1) methods(a *agent) map[string]method {
	m := a.listSharedMethods()
	m["authenticate"] = answerBeside(a.authenticate)
	m["session/load"] = answerBeside(a.loadSession)
	m["session/set_mode"] = a.answerInOrder((*liveSession).setMode)
	return m
}

func (d dialect1) initialize(o Options) any {
	r := v1.InitializeResponse{
		ProtocolVersion: 1,
		AgentInfo:       &v1.Implementation{Name: "cairn", Title: "cairn", Version: nameVersion(o)},
		AgentCapabilities: v1.AgentCapabilities{
			LoadSession:        true,
			MCPCapabilities:    v1.MCPCapabilities{Http: true, Sse: true},
			PromptCapabilities: v1.PromptCapabilities{Image: true, EmbeddedContext: true},
			SessionCapabilities: v1.SessionCapabilities{
				Close: &v1.SessionCloseCapabilities{}, Delete: &v1.SessionDeleteCapabilities{}, Fork: &v1.SessionForkCapabilities{},
				List: &v1.SessionListCapabilities{}, Resume: &v1.SessionResumeCapabilities{},
			},
		},
		AuthMethods: []v1.AuthMethod{{ID: loginID, Name: loginName, Description: loginText}},
	}
	if d.features.terminal {
		r.AuthMethods = append([]v1.AuthMethod{{
			Type: "terminal", ID: loginID + loginTerminal, Name: loginName, Description: loginText, Args: o.LoginCommand,
		}}, r.AuthMethods...)
	}
	return r
}

// nameVersion returns the version of cairn.
func nameVersion(o Options) string {
	if o.Version == "" {
		return "devel"
	}
	return o.Version
}

func (d dialect1) session(id session.ID, s sessionChoices) any {
	return v1.NewSessionResponse{SessionID: string(id), Modes: d.modes(s), ConfigOptions: d.configOptions(s)}
}

func (d dialect1) choices(s sessionChoices) any {
	return v1.LoadSessionResponse{Modes: d.modes(s), ConfigOptions: d.configOptions(s)}
}

func (d dialect1) options(s sessionChoices) any {
	return v1.SetSessionConfigOptionResponse{ConfigOptions: d.configOptions(s)}
}

func (dialect1) modes(s sessionChoices) *v1.SessionModeState {
	if s.agent == "" {
		return nil
	}
	out := &v1.SessionModeState{CurrentModeID: s.agent}
	for _, c := range s.agents {
		out.AvailableModes = append(out.AvailableModes, v1.SessionMode{ID: c.id, Name: c.name, Description: c.description})
	}
	return out
}

func (dialect1) configOptions(s sessionChoices) (out []v1.SessionConfigOption) {
	for _, o := range s.list() {
		one := v1.SessionConfigOption{
			ID: o.id, Name: o.name, Category: v1.SessionConfigOptionCategory(o.category), Type: "select",
			CurrentValue: quote(o.current),
		}
		for _, c := range o.values {
			value := v1.SessionConfigSelectOption{Value: c.id, Name: c.name, Description: c.description}
			one.Options = append(one.Options, value)
		}
		out = append(out, one)
	}
	return out
}

func (d dialect1) update(id session.ID, u update, s sessionChoices) []any {
	var out []any
	for _, one := range d.updates(u, s) {
		out = append(out, v1.SessionNotification{SessionID: string(id), Update: one})
	}
	return out
}

// updates returns the forms of an update, none for one that this version does not have.
func (d dialect1) updates(u update, s sessionChoices) (out []v1.SessionUpdate) {
	// The conversation first, then the plan and settings, then texts for people.
	switch u := u.(type) {
	case userText:
		if u.isOwn { // the client shows it already
			return nil
		}
		for _, b := range u.content {
			out = append(out, v1.SessionUpdateUserMessageChunk{
				SessionUpdate: "user_message_chunk", Content: d.block(b), MessageID: u.messageID,
			})
		}
		return out
	case agentText:
		return []v1.SessionUpdate{v1.SessionUpdateAgentMessageChunk{
			SessionUpdate: "agent_message_chunk", Content: d.block(block{text: u.text}), MessageID: u.messageID,
		}}
	case thought:
		return []v1.SessionUpdate{d.thought(u.messageID, u.text)}
	case callUpdate:
		return []v1.SessionUpdate{d.call(u)}
	case plan:
		// An empty plan takes the earlier one away.
		p := v1.SessionUpdatePlan{SessionUpdate: "plan", Entries: []v1.PlanEntry{}}
		for _, t := range u.todos {
			p.Entries = append(p.Entries, v1.PlanEntry{
				Content: t.Content, Priority: v1.PlanEntryPriority(t.Priority), Status: v1.PlanEntryStatus(planStatus(t.Status)),
			})
		}
		return []v1.SessionUpdate{p}
	case agentChanged:
		return []v1.SessionUpdate{
			v1.SessionUpdateCurrentModeUpdate{SessionUpdate: "current_mode_update", CurrentModeID: u.agent},
			v1.SessionUpdateConfigOptionUpdate{SessionUpdate: "config_option_update", ConfigOptions: d.configOptions(s)},
		}
	case modelChanged:
		return []v1.SessionUpdate{v1.SessionUpdateConfigOptionUpdate{
			SessionUpdate: "config_option_update", ConfigOptions: d.configOptions(s),
		}}
	case titleChanged:
		return []v1.SessionUpdate{v1.SessionUpdateSessionInfoUpdate{SessionUpdate: "session_info_update", Title: u.title}}
	case usage:
		if u.size == 0 {
			return nil
		}
		return []v1.SessionUpdate{v1.SessionUpdateUsageUpdate{
			SessionUpdate: "usage_update", Used: u.used, Size: u.size,
			Cost: &v1.Cost{Amount: u.cost.Dollars(), Currency: "USD"},
		}}
	case stateChanged: // that of own work is in the answer to its prompt
		if u.why == nil || u.isOwn {
			return nil
		}
		return d.updates(notice{"the work failed", u.why.Message}, s)
	case notice:
		if d.features.notices {
			return []v1.SessionUpdate{v1.SessionUpdateNotice{
				SessionUpdate: "notice", Title: u.title, Description: u.text, Severity: v1.NoticeSeverityInfo,
			}}
		}
		text := "[" + u.title + "]"
		if u.text != "" {
			text += " " + u.text
		}
		return []v1.SessionUpdate{d.thought("", "\n"+text+"\n")}
	case commandList:
		return []v1.SessionUpdate{newCommandList1(u)}
	}
	return nil
}

func newCommandList1(u commandList) v1.SessionUpdate {
	list := v1.SessionUpdateAvailableCommandsUpdate{SessionUpdate: "available_commands_update"}
	for _, c := range u.commands {
		one := v1.AvailableCommand{Name: c.name, Description: c.description}
		if c.hint != "" {
			one.Input = &v1.AvailableCommandInput{Hint: c.hint}
		}
		list.AvailableCommands = append(list.AvailableCommands, one)
	}
	return list
}

func (d dialect1) call(u callUpdate) v1.SessionUpdate {
	if u.isNew {
		return v1.SessionUpdateToolCall{
			SessionUpdate: "tool_call", ToolCallID: u.id, Title: u.title, Name: u.tool, Kind: v1.ToolKind(u.kind),
			Status: v1.ToolCallStatus(u.status), Content: d.content(u.content), Locations: d.locations(u.paths),
			RawInput: u.rawInput,
		}
	}
	return v1.SessionUpdateToolCallUpdate{
		SessionUpdate: "tool_call_update", ToolCallID: u.id, Title: u.title, Kind: v1.ToolKind(u.kind),
		Status: v1.ToolCallStatus(u.status), Content: d.content(u.content), Locations: d.locations(u.paths),
		RawInput: u.rawInput, RawOutput: u.rawOutput,
	}
}

func (d dialect1) thought(id, text string) v1.SessionUpdate {
	return v1.SessionUpdateAgentThoughtChunk{
		SessionUpdate: "agent_thought_chunk", Content: d.block(block{text: text}), MessageID: id,
	}
}

func (dialect1) block(b block) v1.ContentBlock {
	switch {
	case b.data != "":
		return v1.ContentBlock{Type: "image", Data: b.data, MimeType: b.mediaType}
	case b.uri != "":
		return v1.ContentBlock{Type: "resource_link", URI: b.uri, Name: deriveName(b.uri, b.name), MimeType: b.mediaType}
	default:
		return v1.ContentBlock{Type: "text", Text: b.text}
	}
}

func (d dialect1) content(list []callContent) (out []v1.ToolCallContent) {
	for _, c := range list {
		if c.diff == nil {
			out = append(out, v1.ToolCallContentContent{Type: "content", Content: d.block(c.block)})
			continue
		}
		one := v1.ToolCallContentDiff{Type: "diff", Path: c.diff.path, NewText: c.diff.new, OldText: c.diff.old}
		out = append(out, one)
	}
	return out
}

func (dialect1) locations(paths []string) (out []v1.ToolCallLocation) {
	for _, p := range paths {
		out = append(out, v1.ToolCallLocation{Path: p})
	}
	return out
}

func (d dialect1) permission(id session.ID, _ string, call callUpdate, options []permissionOption) any {
	r := v1.RequestPermissionRequest{SessionID: string(id), ToolCall: v1.ToolCallUpdate{
		ToolCallID: call.id, Title: call.title, Kind: v1.ToolKind(call.kind), Status: v1.ToolCallStatus(call.status),
		Content: d.content(call.content), RawInput: call.rawInput,
	}}
	for _, o := range options {
		r.Options = append(r.Options, v1.PermissionOption{
			OptionID: o.id, Name: o.name, Kind: v1.PermissionOptionKind(o.kind),
		})
	}
	return r
}

// planStatus returns the protocol's word: it has none for what was given up.
func planStatus(s session.TodoStatus) session.TodoStatus {
	if s == session.TodoCancelled {
		return session.TodoCompleted
	}
	return s
}
