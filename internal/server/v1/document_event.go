package v1

import (
	"maps"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/session"
)

// busEvents are the kinds of events, with their properties.
func busEvents() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"server.connected": is[nothingSaid](), "server.heartbeat": is[nothingSaid](),
		kindDisposed: is[disposedPlace](), kindGlobalDisposed: is[nothingSaid](), kindBranch: is[branchUpdated](),
		"message.updated": is[opencode.MessageInfo](), "message.removed": is[opencode.MessageGone](),
		"message.part.updated": is[opencode.PartInfo](), "message.part.removed": is[opencode.PartGone](), "message.part.delta": is[opencode.Delta](),
		"session.status": is[opencode.Status](), "session.idle": is[opencode.SessionOnly](), "session.compacted": is[opencode.SessionOnly](),
		"session.diff": is[opencode.Diff](), "session.error": is[opencode.Failure](), "todo.updated": is[opencode.Todos](),
		"permission.asked": is[opencode.Permission](), "permission.replied": is[opencode.PermissionReply](),
		"question.asked": is[opencode.Question](), "question.replied": is[opencode.QuestionAnswer](), "question.rejected": is[opencode.QuestionRejection](),
		"file.edited": is[opencode.FileEdited](), "file.watcher.updated": is[opencode.FileWatched](),
		kindAppend: is[tuiText](), kindCommand: is[tuiCommand](), kindToast: is[toast](), kindSelect: is[tuiSession](),
		"command.executed": is[opencode.CommandExecution](), "pty.exited": is[terminalExit](), "pty.deleted": is[terminalID](),
	}
	for _, kind := range []string{"created", "updated", "deleted"} {
		out["session."+kind] = is[opencode.SessionInfo]()
	}
	for _, kind := range []string{"created", "updated"} {
		out["pty."+kind] = is[terminalInfo]()
	}
	maps.Copy(out, nextEvents())
	maps.Copy(out, neverTold())
	return out
}

// nextEvents are those of V2, as sessions that were made below it tell them here.
func nextEvents() map[string]reflect.Type {
	out := map[string]reflect.Type{
		"permission.v2.asked": is[session.PendingAsk](), "permission.v2.replied": is[session.AskReplied](),
		"question.v2.asked": is[session.QuestionAsked](), "question.v2.replied": is[session.QuestionReplied](), "question.v2.rejected": is[session.QuestionRejected](),
		string((*session.ToolProgress)(nil).Kind()): is[session.ToolProgress](),
	}
	for _, k := range session.Kinds() {
		if d, err := session.DecodeData(k, 1, jsontext.Value(`{}`)); err == nil && k.IsPublic() {
			out[string(k)] = reflect.TypeOf(d).Elem()
		}
	}
	for _, item := range []session.FragmentItem{session.FragmentText, session.FragmentReasoning, session.FragmentToolInput} {
		out[string(session.Fragment{Item: item}.Kind())] = is[session.FragmentData]()
	}
	return out
}

// What events say of things that there are not here.
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

// neverTold are the kinds that OpenCode's clients know, and that nothing here gives rise to.
func neverTold() map[string]reflect.Type {
	return map[string]reflect.Type{
		"models-dev.refreshed": is[nothingSaid](), "catalog.updated": is[nothingSaid](), "reference.updated": is[nothingSaid](), "lsp.updated": is[nothingSaid](),
		"integration.updated": is[nothingSaid](), "integration.connection.updated": is[ofIntegration](),
		"installation.updated": is[ofVersion](), "installation.update-available": is[ofVersion](),
		"plugin.added": is[ofPlugin](), "mcp.tools.changed": is[ofTools](), "mcp.browser.open.failed": is[ofBrowser](),
		"project.updated": is[opencode.Project](), "project.directories.updated": is[ofDirectories](),
		"session.next.compaction.delta": is[ofSummary](),
		"workspace.ready":               is[ofPlace](), "workspace.failed": is[ofFailure](), "workspace.status": is[ofWorkspace](),
		"worktree.ready": is[ofPlace](), "worktree.failed": is[ofFailure](),
	}
}
