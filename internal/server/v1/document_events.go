package v1

import (
	"maps"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// eventTypes are the types of the properties of the events, by kind.
func eventTypes() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"server.connected": typeOf[emptyObject](), "server.heartbeat": typeOf[emptyObject](),
		kindDisposed: typeOf[instance](), kindGlobalDisposed: typeOf[emptyObject](), kindBranch: typeOf[branchUpdated](),
		"message.updated": typeOf[opencode.MessageInfo](), "message.removed": typeOf[opencode.MessageGone](),
		"message.part.updated": typeOf[opencode.PartInfo](), "message.part.removed": typeOf[opencode.PartGone](),
		"message.part.delta": typeOf[opencode.Delta](),
		"session.status":     typeOf[opencode.Status](), "session.idle": typeOf[opencode.SessionOnly](),
		"session.compacted": typeOf[opencode.SessionOnly](), "session.diff": typeOf[opencode.Diff](),
		"session.error": typeOf[opencode.Failure](), "todo.updated": typeOf[opencode.Todos](),
		"permission.asked": typeOf[opencode.Permission](), "permission.replied": typeOf[opencode.PermissionReply](),
		"question.asked": typeOf[opencode.Question](), "question.replied": typeOf[opencode.QuestionAnswer](),
		"question.rejected": typeOf[opencode.QuestionRejection](),
		"file.edited":       typeOf[opencode.FileEdited](), "file.watcher.updated": typeOf[opencode.FileWatched](),
		kindAppend: typeOf[tuiText](), kindCommand: typeOf[tuiCommand](), kindToast: typeOf[toast](),
		kindSelect:         typeOf[tuiSession](),
		"command.executed": typeOf[opencode.CommandExecution](), "pty.exited": typeOf[terminalExit](),
		"pty.deleted": typeOf[terminalID](),
	}
	for _, kind := range []string{"created", "updated", "deleted"} {
		out["session."+kind] = typeOf[opencode.SessionInfo]()
	}
	for _, kind := range []string{"created", "updated"} {
		out["pty."+kind] = typeOf[terminalInfo]()
	}
	maps.Copy(out, v2EventTypes())
	maps.Copy(out, unusedEventTypes())
	return out
}

// v2EventTypes are the events of V2 that the streams of V1 contain, too.
func v2EventTypes() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"permission.v2.asked": typeOf[session.PendingAsk](), "permission.v2.replied": typeOf[session.AskReplied](),
		"question.v2.asked": typeOf[session.QuestionAsked](), "question.v2.replied": typeOf[session.QuestionReplied](),
		"question.v2.rejected":                      typeOf[session.QuestionRejected](),
		string((*session.ToolProgress)(nil).Kind()): typeOf[session.ToolProgress](),
	}
	for _, k := range session.ListKinds() {
		if d, err := session.DecodeData(k, 1, jsontext.Value(`{}`)); err == nil && k.IsPublic() {
			out[string(k)] = reflect.TypeOf(d).Elem()
		}
	}
	items := []session.FragmentItem{session.FragmentText, session.FragmentReasoning, session.FragmentToolInput}
	for _, item := range items {
		out[string(session.Fragment{Item: item}.Kind())] = typeOf[session.FragmentData]()
	}
	return out
}

// The properties of events that cairn never sends.
type (
	ofIntegration struct {
		ID string `json:"integrationID"`
	}
	ofVersion struct {
		Version string `json:"version"`
	}
	ofPlugin struct {
		ID string `json:"id"`
	}
	ofDirectories struct {
		ProjectID session.ProjectID `json:"projectID"`
	}
	ofTools struct {
		Server string `json:"server"`
	}
	ofBrowser struct {
		Name string `json:"mcpName"`
		URL  string `json:"url"`
	}
	ofPlace struct {
		Name   string `json:"name"`
		Branch string `json:"branch,omitzero"`
	}
	ofFailure struct {
		Message string `json:"message"`
	}
	ofSummary struct {
		Timestamp int64             `json:"timestamp"`
		SessionID session.ID        `json:"sessionID"`
		MessageID session.MessageID `json:"messageID"`
		Text      string            `json:"text"`
	}
	ofWorkspace struct {
		ID     string `json:"workspaceID"`
		Status string `json:"status" enum:"connected,connecting,disconnected,error"`
	}
)

// unusedEventTypes are the kinds that OpenCode's clients know and that cairn never sends.
func unusedEventTypes() map[string]reflect.Type {
	return map[string]reflect.Type{
		"models-dev.refreshed": typeOf[emptyObject](), "catalog.updated": typeOf[emptyObject](),
		"reference.updated": typeOf[emptyObject](), "lsp.updated": typeOf[emptyObject](),
		"integration.updated": typeOf[emptyObject](), "integration.connection.updated": typeOf[ofIntegration](),
		"installation.updated": typeOf[ofVersion](), "installation.update-available": typeOf[ofVersion](),
		"plugin.added": typeOf[ofPlugin](), "mcp.tools.changed": typeOf[ofTools](),
		"mcp.browser.open.failed": typeOf[ofBrowser](),
		"project.updated":         typeOf[opencode.Project](), "project.directories.updated": typeOf[ofDirectories](),
		"session.next.compaction.delta": typeOf[ofSummary](),
		"workspace.ready":               typeOf[ofPlace](), "workspace.failed": typeOf[ofFailure](),
		"workspace.status": typeOf[ofWorkspace](),
		"worktree.ready":   typeOf[ofPlace](), "worktree.failed": typeOf[ofFailure](),
	}
}
