package v2

import (
	"slices"
	"strings"

	"github.com/cairn-dev/cairn/internal/server/operation"
)

// sessionPath is the path of one session.
const sessionPath = "/api/session/{sessionID}"

// ListOperations lists the operations of the contract: OpenCode's first, then the additional ones.
func ListOperations() []operation.Operation { return (&deps{}).listOperations() }

// listOperations is the table of the contract. A row has the route, the operationId of OpenCode's document, "" for additional
// operations, and the handler, whose types give the parameters, the body and the response.
func (d *deps) listOperations() []operation.Operation {
	rows := slices.Concat(d.listOpenCodeOperations(), d.listAdditionalOperations())
	for i, o := range rows {
		if o.ID == "" {
			rows[i].ID = newOperationID(o.Method, o.Path)
		}
	}
	return rows
}

// listOpenCodeOperations are the operations of OpenCode's document, and those that belong to them.
func (d *deps) listOpenCodeOperations() []operation.Operation {
	locations := locationHandlers{d}
	sessions := sessionHandlers{d}
	messages := messageHandlers{d}
	events := eventHandlers{d}
	permissions := permissionHandlers{d}
	questions := questionHandlers{d}
	return []operation.Operation{
		operation.New("read GET /api/health", "v2.health.get", locations.getHealth),
		operation.New("read GET /api/location", "v2.location.get", locations.get),
		operation.New("read GET /api/agent", "v2.agent.list", locations.listAgents),
		operation.New("read GET /api/skill", "v2.skill.list", locations.listSkills),
		operation.New("read GET /api/command", "v2.command.list", locations.listCommands),
		operation.New("read GET /api/model", "v2.model.list", locations.listModels),
		operation.New("read GET /api/provider", "v2.provider.list", locations.listProviders),
		operation.New("read GET /api/provider/{providerID}", "v2.provider.get", locations.getProvider),
		operation.New("read GET /api/reference", "v2.reference.list", d.listNothing),
		operation.New("read GET /api/integration", "v2.integration.list", d.listNothing),
		operation.New("read GET /api/fs/list", "v2.fs.list", locations.listFiles),
		operation.New("read GET /api/fs/find", "v2.fs.find", locations.findFiles),
		operation.New("read GET /api/event", "v2.event.subscribe", events.subscribe),

		operation.New("read GET /api/session", "v2.session.list", sessions.list),
		operation.New("prompt POST /api/session", "v2.session.create", sessions.create),
		operation.New("read GET /api/session/active", "v2.session.active", sessions.listActive),
		operation.New("read GET "+sessionPath, "v2.session.get", sessions.get),
		operation.New("prompt POST "+sessionPath+"/agent", "v2.session.switchAgent", sessions.switchAgent),
		operation.New("prompt POST "+sessionPath+"/model", "v2.session.switchModel", sessions.switchModel),
		operation.New("prompt POST "+sessionPath+"/prompt", "v2.session.prompt", sessions.admitPrompt),
		operation.New("read POST "+sessionPath+"/wait", "v2.session.wait", sessions.wait),
		operation.New("prompt POST "+sessionPath+"/interrupt", "v2.session.interrupt", sessions.interrupt),
		operation.New("read GET "+sessionPath+"/context", "v2.session.context", messages.listContext),
		operation.New("read GET "+sessionPath+"/message", "v2.session.messages", messages.list),
		operation.New("read GET "+sessionPath+"/message/{messageID}", "v2.session.message", messages.get),
		operation.New("read GET "+sessionPath+"/history", "v2.session.history", events.listHistory),
		operation.New("read GET "+sessionPath+"/event", "v2.session.events", events.subscribeSession),

		operation.New("read GET "+sessionPath+"/permission", "v2.session.permission.list", permissions.list),
		operation.New("prompt POST "+sessionPath+"/permission", "v2.session.permission.create", permissions.create),
		operation.New("read GET "+sessionPath+"/permission/{requestID}", "v2.session.permission.get", permissions.get),
		operation.New(
			"approve POST "+sessionPath+"/permission/{requestID}/reply",
			"v2.session.permission.reply",
			permissions.reply,
		),
		operation.New("read GET /api/permission/request", "v2.permission.request.list", permissions.listAll),
		operation.New("read GET /api/permission/explain", "", permissions.explain),
		operation.New("read GET /api/permission/saved", "v2.permission.saved.list", permissions.listApprovals),
		operation.New("approve DELETE /api/permission/saved/{id}", "v2.permission.saved.remove", permissions.revoke),
		operation.New("read GET "+sessionPath+"/question", "v2.session.question.list", questions.list),
		operation.New(
			"approve POST "+sessionPath+"/question/{requestID}/reply",
			"v2.session.question.reply",
			questions.answerQuestions,
		),
		operation.New(
			"approve POST "+sessionPath+"/question/{requestID}/reject",
			"v2.session.question.reject",
			questions.rejectQuestions,
		),
		operation.New("read GET /api/question/request", "v2.question.request.list", questions.listAll),
	}
}

// listAdditionalOperations are the operations that OpenCode does not have.
func (d *deps) listAdditionalOperations() []operation.Operation {
	locations := locationHandlers{d}
	sessions := sessionHandlers{d}
	inbox := inboxHandlers{d}
	jobs := jobHandlers{d}
	ledger := ledgerHandlers{d}
	return []operation.Operation{
		operation.New("prompt POST /api/session/import", "", sessions.importSession),
		operation.New("prompt PATCH "+sessionPath, "", sessions.update),
		operation.New("prompt DELETE "+sessionPath, "", sessions.delete),
		operation.New("read GET "+sessionPath+"/children", "", sessions.listChildren),
		operation.New("read GET "+sessionPath+"/todo", "", sessions.listTodos),
		operation.New("read GET "+sessionPath+"/job", "", jobs.list),
		operation.New("read GET "+sessionPath+"/job/{jobID}", "", jobs.get),
		operation.New("read GET "+sessionPath+"/job/{jobID}/log", "", jobs.readLog),
		operation.New("read POST "+sessionPath+"/job/{jobID}/wait", "", jobs.wait),
		operation.New("prompt POST "+sessionPath+"/job/{jobID}/cancel", "", jobs.cancel),
		operation.New("read GET "+sessionPath+"/status", "", sessions.getStatus),
		operation.New("prompt POST "+sessionPath+"/resume", "", sessions.resume),
		operation.New("read GET "+sessionPath+"/budget", "", sessions.getBudget),
		operation.New("approve PUT "+sessionPath+"/budget", "", sessions.setBudget),
		operation.New("read GET "+sessionPath+"/inbox", "", inbox.list),
		operation.New("prompt PUT "+sessionPath+"/inbox", "", inbox.reorderPrompts),
		operation.New("prompt PATCH "+sessionPath+"/inbox/{messageID}", "", inbox.update),
		operation.New("prompt DELETE "+sessionPath+"/inbox/{messageID}", "", inbox.withdrawPrompt),
		operation.New("read GET "+sessionPath+"/spend", "", ledger.list),
		operation.New("prompt POST /api/command/expand", "", locations.expandCommand),
		operation.New("read GET /api/stats", "", ledger.sum),
		operation.New("read GET /api/config/explain", "", locations.explainConfig),
		operation.New("read GET /api/doctor", "", locations.runDoctor),
		operation.New("read GET /api/doc", "", d.writeDocument),
	}
}

// newOperationID returns the id of an additional operation, such as get.session.sessionID.children.
func newOperationID(method, path string) string {
	path = strings.NewReplacer("/", ".", "{", "", "}", "").Replace(strings.TrimPrefix(path, "/api"))
	return strings.ToLower(method) + path
}
