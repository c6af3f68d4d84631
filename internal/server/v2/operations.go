package v2

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/server/operation"
)

// ListOperations lists the operations of the contract: OpenCode's first, then the additional ones.
func ListOperations() []operation.Operation { return (&dependencies{}).listOperations() }

// listOperations is the table of the contract. A row has the route, the operationId of OpenCode's document, "" for
// additional operations, and the handler, whose types give the parameters, the body and the response.
func (d *dependencies) listOperations() []operation.Operation {
	rows := slices.Concat(
		d.listOpenCodeOperations(),
		d.listCompactionOperations(),
		d.listRevertOperations(),
		d.listMCPOperations(), d.listWorktreeOperations(), d.listShareOperations(), d.listEditorOperations(),
		d.listAdditionalOperations(),
	)
	for i, o := range rows {
		if o.ID == "" {
			rows[i].ID = newOperationID(o.Method, o.Path)
		}
	}
	return slices.Concat(rows, listUnimplemented())
}

// listOpenCodeOperations are the operations of OpenCode's document, and those that belong to them.
func (d *dependencies) listOpenCodeOperations() []operation.Operation {
	locations := locationHandlers{d}
	sessions := sessionHandlers{d}
	messages := messageHandlers{d}
	events := eventHandlers{d}
	permissions := permissionHandlers{d}
	questions := questionHandlers{d}
	// Locations and the feed first, then sessions, their messages and events, then permissions and questions.
	return []operation.Operation{
		operation.New("read GET /api/health Return the state of the server", "v2.health.get", locations.getHealth),
		operation.New("read GET /api/location Return the location of a request and its project",
			"v2.location.get", locations.get),
		operation.New("read GET /api/agent List the agents of a location", "v2.agent.list", locations.listAgents),
		operation.New("read GET /api/skill List the skills of a location", "v2.skill.list", locations.listSkills),
		operation.New("read GET /api/plugin List the plugins of a location", "v2.plugin.list", locations.listPlugins),
		operation.New("read GET /api/command List the commands of a location", "v2.command.list", locations.listCommands),
		operation.New("read GET /api/model List the models of a location", "v2.model.list", locations.listModels),
		operation.New("read GET /api/provider List the providers of a location",
			"v2.provider.list", locations.listProviders),
		operation.New("read GET /api/provider/{providerID} Return a provider", "v2.provider.get", locations.getProvider),
		operation.New("read GET /api/reference List the references to other projects", "v2.reference.list", d.listNothing),
		operation.New("read GET /api/integration List the integrations", "v2.integration.list", d.listNothing),
		operation.New("read GET /api/fs/list List the files of a directory", "v2.fs.list", locations.listFiles),
		operation.New("read GET /api/fs/find Search files and directories by name", "v2.fs.find", locations.findFiles),
		operation.New("read GET /api/event Stream the events of all sessions",
			"v2.event.subscribe", events.subscribe).WithStatuses(http.StatusConflict),

		operation.New("read GET /api/session List sessions", "v2.session.list", sessions.list),
		operation.New("prompt POST /api/session Create a session",
			"v2.session.create", sessions.create).WithStatuses(http.StatusConflict),
		operation.New("read GET /api/session/active List the working sessions", "v2.session.active", sessions.listActive),
		operation.New("read GET "+sessionPath+" Return a session", "v2.session.get", sessions.get),
		operation.New("prompt POST "+sessionPath+"/move Move a session to another directory",
			"v2.session.move", sessions.move).WithStatuses(http.StatusConflict),
		operation.New("prompt POST "+sessionPath+"/agent Select the agent of a session",
			"v2.session.switchAgent", sessions.switchAgent),
		operation.New("prompt POST "+sessionPath+"/model Select the model of a session",
			"v2.session.switchModel", sessions.switchModel),
		operation.New("prompt POST "+sessionPath+"/prompt Prompt a session",
			"v2.session.prompt", sessions.admitPrompt).WithStatuses(http.StatusConflict),
		operation.New("read POST "+sessionPath+"/wait Wait until a session is idle", "v2.session.wait", sessions.wait),
		operation.New("prompt POST "+sessionPath+"/interrupt Interrupt the work of a session",
			"v2.session.interrupt", sessions.interrupt),
		operation.New("read GET "+sessionPath+"/context List the messages of the model's context",
			"v2.session.context", messages.listContext),
		operation.New("read GET "+sessionPath+"/message List the messages of a session",
			"v2.session.messages", messages.list),
		operation.New("read GET "+sessionPath+"/message/{messageID} Return a message", "v2.session.message", messages.get),
		operation.New("read GET "+sessionPath+"/history List the events of a session",
			"v2.session.history", events.listHistory).WithStatuses(http.StatusConflict),
		operation.New("read GET "+sessionPath+"/event Stream the events of a session",
			"v2.session.events", events.subscribeSession).WithStatuses(http.StatusConflict),

		operation.New("read GET "+sessionPath+"/permission List the pending permission requests of a session",
			"v2.session.permission.list", permissions.list),
		operation.New("prompt POST "+sessionPath+"/permission Ask for a permission",
			"v2.session.permission.create", permissions.create).WithStatuses(http.StatusConflict),
		operation.New("read GET "+sessionPath+"/permission/{requestID} Return a permission request",
			"v2.session.permission.get", permissions.get),
		operation.New("approve POST "+sessionPath+"/permission/{requestID}/reply Answer a permission request",
			"v2.session.permission.reply", permissions.reply),
		operation.New("read GET /api/permission/request List the pending permission requests of a location",
			"v2.permission.request.list", permissions.listAll),
		operation.New("read GET /api/permission/explain Return which rule decides about an action",
			"", permissions.explain),
		operation.New("read GET /api/permission/saved List the saved approvals",
			"v2.permission.saved.list", permissions.listApprovals),
		operation.New("approve DELETE /api/permission/saved/{id} Revoke a saved approval",
			"v2.permission.saved.remove", permissions.revoke),
		operation.New("read GET "+sessionPath+"/question List the pending questions of a session",
			"v2.session.question.list", questions.list),
		operation.New("approve POST "+sessionPath+"/question/{requestID}/reply Answer a question",
			"v2.session.question.reply", questions.answerQuestions),
		operation.New("approve POST "+sessionPath+"/question/{requestID}/reject Reject a question",
			"v2.session.question.reject", questions.rejectQuestions),
		operation.New("read GET /api/question/request List the pending questions of a location",
			"v2.question.request.list", questions.listAll),
	}
}

// listCompactionOperations are about compactions. OpenCode cannot undo them.
func (d *dependencies) listCompactionOperations() []operation.Operation {
	sessions := sessionHandlers{d}
	return []operation.Operation{
		operation.New("prompt POST "+sessionPath+"/compact Request a summary that replaces the history of a session",
			"v2.session.compact", sessions.compact).WithStatuses(http.StatusConflict),
		operation.New("prompt POST "+sessionPath+"/uncompact Undo the newest compaction of a session",
			"", sessions.undoCompaction).WithStatuses(http.StatusConflict),
	}
}

// listRevertOperations are about what a session changed, and about going back. DELETE and GET are as in OpenCode 2.0.
func (d *dependencies) listRevertOperations() []operation.Operation {
	reverts := revertHandlers{d}
	return []operation.Operation{
		operation.New("prompt POST "+sessionPath+"/revert/stage Take a session back to after a message",
			"v2.session.revert.stage", reverts.stageRevert).WithStatuses(http.StatusConflict),
		operation.New("prompt POST "+sessionPath+"/revert/clear Take the staged revert back",
			"v2.session.revert.clear", reverts.clearRevert).WithStatuses(http.StatusConflict),
		operation.New("prompt DELETE "+sessionPath+"/revert Take the staged revert back",
			"", reverts.clearRevert).WithStatuses(http.StatusConflict),
		operation.New("prompt POST "+sessionPath+"/revert/commit Remove the messages of the staged revert",
			"v2.session.revert.commit", reverts.commitRevert).WithStatuses(http.StatusConflict),
		operation.New("prompt POST "+sessionPath+"/revert/recover Bring back the files of the newest committed revert",
			"", reverts.recoverFiles).WithStatuses(http.StatusConflict),
		operation.New("prompt POST "+sessionPath+"/fork Copy a session up to a message", "", reverts.forkSession),
		operation.New("read GET "+sessionPath+"/diff List what a session changed in files", "", reverts.listDiffs),
	}
}

// listAdditionalOperations are the operations that OpenCode does not have.
func (d *dependencies) listAdditionalOperations() []operation.Operation {
	locations := locationHandlers{d}
	sessions := sessionHandlers{d}
	inbox := inboxHandlers{d}
	jobs := jobHandlers{d}
	spend := spendHandlers{d}
	archives := archiveHandlers{d}
	contexts := contextHandlers{d}
	projects := projectHandlers{d}
	// Sessions and jobs first, then their work and inbox, then context, spending and the installation.
	return append([]operation.Operation{
		operation.New("read GET /api/project List the projects", "project.list", projects.list),
		operation.New("read GET /api/project/{projectID} Return a project", "", projects.get),
		operation.New("approve PATCH /api/project/{projectID} Change a project", "project.update", projects.update),
		operation.New("approve DELETE /api/project/{projectID} Forget a project, but not its sessions",
			"", projects.forget),
		operation.New("prompt POST /api/session/import Import a piece of a session",
			"", sessions.importSession).WithStatuses(http.StatusConflict),
		operation.New("approve GET /api/session/log Return the exported log of sessions and their children",
			"", archives.exportLog).WithStatuses(http.StatusNotFound, http.StatusConflict),
		operation.New("approve POST /api/session/log Import a piece of an exported log",
			"", archives.importLog).WithStatuses(http.StatusConflict),
		operation.New("prompt PATCH "+sessionPath+" Change a session", "", sessions.update),
		operation.New("prompt DELETE "+sessionPath+" Delete a session and its children", "", sessions.delete),
		operation.New("prompt POST "+sessionPath+"/summary Return the summary of a session, brought up to date",
			"", sessions.updateSummary),
		operation.New("read GET "+sessionPath+"/children List the children of a session", "", sessions.listChildren),
		operation.New("read GET "+sessionPath+"/todo List the todos of a session", "", sessions.listTodos),
		operation.New("read GET "+sessionPath+"/job List the background jobs of a session", "", jobs.list),
		operation.New("read GET "+sessionPath+"/job/{jobID} Return a background job", "", jobs.get),
		operation.New("read GET "+sessionPath+"/job/{jobID}/log Return output of a background job", "", jobs.readLog),
		operation.New("read POST "+sessionPath+"/job/{jobID}/wait Wait until a background job ends", "", jobs.wait),
		operation.New("prompt POST "+sessionPath+"/job/{jobID}/cancel Stop a background job", "", jobs.cancel),
		operation.New("read GET "+sessionPath+"/status Return the state of a session", "", sessions.getStatus),
		operation.New("prompt POST "+sessionPath+"/resume Continue the work of a session", "", sessions.resume),
		operation.New("admin POST /api/session/recover Resume the work that earlier processes left unfinished",
			"", sessions.recoverAll),
		operation.New("read GET "+sessionPath+"/budget Return the budget of a session", "", sessions.getBudget),
		operation.New("approve PUT "+sessionPath+"/budget Replace the budget of a session", "", sessions.setBudget),
		operation.New("read GET "+sessionPath+"/inbox List the pending prompts of a session", "", inbox.list),
		operation.New("prompt PUT "+sessionPath+"/inbox Reorder the pending prompts of a session",
			"", inbox.reorderPrompts).WithStatuses(http.StatusConflict),
		operation.New("prompt PATCH "+sessionPath+"/inbox/{messageID} Change a pending prompt",
			"", inbox.update).WithStatuses(http.StatusConflict),
		operation.New("prompt DELETE "+sessionPath+"/inbox/{messageID} Withdraw a pending prompt",
			"", inbox.withdrawPrompt).WithStatuses(http.StatusConflict),
		operation.New("read GET "+sessionPath+"/context/request Return the next request of a session by its sources",
			"", contexts.nextRequest),
		operation.New("read GET "+sessionPath+"/compact/preview Return what a compaction of a session would do",
			"", contexts.previewCompaction).WithStatuses(http.StatusConflict),
		operation.New("read GET /api/context/explain Return why a file is in the system context or not",
			"", contexts.explainInstruction),
		operation.New("read GET "+sessionPath+"/spend List the spending of a session", "", spend.list),
		operation.New("prompt POST /api/command/expand Return the prompt that a command expands to",
			"", locations.expandCommand),
		operation.New("read GET /api/experimental/session/stats Return what sessions cost and did",
			"experimental.session.stats", statsHandlers{d}.sumForOpenCode).WithStatuses(http.StatusNotFound),
		operation.New("read GET /api/stats Return the spending of all sessions", "", statsHandlers{d}.sum).WithStatuses(
			http.StatusNotFound,
		),
		operation.New("read GET /api/search Search the texts of all sessions", "", searchHandlers{d}.search).WithStatuses(
			http.StatusNotFound, http.StatusConflict,
		),
		operation.New("admin POST /api/storage/prune Delete sessions that are old, too many or too large", "",
			storageHandlers{d}.prune),
		operation.New("admin POST /api/storage/vacuum Give free space of the sessions back to the disk", "",
			storageHandlers{d}.vacuum),
		operation.New("read GET /api/config/explain Return where the settings of a location come from",
			"", locations.explainConfig),
		operation.New("read GET /api/doctor Check the installation", "", locations.runDoctor),
		operation.New("read GET /api/doc Return this document", "", d.writeDocument),
	}, sessions.entryOperations()...)
}

// newOperationID returns the id of an additional operation, such as get.session.sessionID.children.
func newOperationID(method, path string) string {
	path = strings.NewReplacer("/", ".", "{", "", "}", "").Replace(strings.TrimPrefix(path, "/api"))
	return strings.ToLower(method) + path
}
