package v1

import (
	"slices"

	"github.com/cairn-dev/cairn/internal/server/operation"
)

// ListOperations lists the operations of the contract.
func ListOperations() []operation.Operation { return (&deps{}).listOperations() }

// listOperations is the table of the contract. A row has the route, the operationId of OpenCode's document, "" for routes that
// only older clients call, and the handler, whose types give the parameters, the body and the response.
func (d *deps) listOperations() []operation.Operation {
	return slices.Concat(
		d.listInstanceOperations(),
		d.listSessionOperations(),
		d.listLocationOperations(),
		d.listTerminalOperations(),
		d.listUnimplemented(),
	)
}

// listInstanceOperations are about the server, its locations and its streams.
func (d *deps) listInstanceOperations() []operation.Operation {
	instances := instanceHandlers{d}
	events := eventHandlers{d}
	return []operation.Operation{
		operation.New("GET /global/health", "global.health", instances.getHealth),
		operation.New("POST /global/dispose", "global.dispose", instances.disposeAll),
		operation.New("POST /instance/dispose", "instance.dispose", instances.disposeInstance),
		operation.New("POST /log", "app.log", instances.writeLog),
		operation.New("GET /path", "path.get", instances.getPaths),
		operation.New("GET /project", "project.list", instances.listProjects),
		operation.New("GET /project/current", "project.current", instances.getProject),
		operation.New("POST /project/git/init", "project.initGit", instances.getProject),
		operation.New("PATCH /project/{projectID}", "project.update", instances.updateProject),
		operation.New("GET /project/{projectID}/directories", "project.directories", instances.listProjectDirectories),
		operation.New("GET /app", "", instances.getApp),
		operation.New("GET /doc", "", d.writeDocument),

		operation.New("GET /event", "event.subscribe", events.subscribe),
		operation.New("GET /global/event", "global.event", events.subscribeGlobal),
	}
}

// listSessionOperations are about sessions and their messages.
func (d *deps) listSessionOperations() []operation.Operation {
	sessions := sessionHandlers{d}
	messages := messageHandlers{d}
	prompts := promptHandlers{d}
	asks := askHandlers{d}
	return []operation.Operation{
		operation.New("GET /session", "session.list", sessions.listSessions),
		operation.New("POST /session", "session.create", sessions.create),
		operation.New("GET /session/status", "session.status", sessions.listStatuses),
		operation.New("GET /session/{sessionID}", "session.get", sessions.get),
		operation.New("PATCH /session/{sessionID}", "session.update", sessions.update),
		operation.New("DELETE /session/{sessionID}", "session.delete", sessions.delete),
		operation.New("GET /session/{sessionID}/children", "session.children", sessions.listChildren),
		operation.New("GET /session/{sessionID}/todo", "session.todo", sessions.listTodos),
		operation.New("GET /session/{sessionID}/diff", "session.diff", sessions.listDiffs),
		operation.New("POST /session/{sessionID}/abort", "session.abort", sessions.abortSession),
		operation.New("GET /experimental/session", "experimental.session.list", sessions.listGlobal),

		operation.New("GET /session/{sessionID}/message", "session.messages", messages.listMessages),
		operation.New("GET /session/{sessionID}/message/{messageID}", "session.message", messages.get),
		operation.New("DELETE /session/{sessionID}/message/{messageID}", "session.deleteMessage", messages.delete),
		operation.New(
			"DELETE /session/{sessionID}/message/{messageID}/part/{partID}",
			"part.delete",
			messages.deletePart,
		),
		operation.New(
			"PATCH /session/{sessionID}/message/{messageID}/part/{partID}",
			"part.update",
			messages.updatePart,
		),

		operation.New("POST /session/{sessionID}/message", "session.prompt", prompts.runPrompt),
		operation.New("POST /session/{sessionID}/prompt_async", "session.prompt_async", prompts.startPrompt),
		operation.New("POST /session/{sessionID}/command", "session.command", prompts.runCommand),
		operation.New("POST /session/{sessionID}/init", "session.init", prompts.runInit),
		operation.New("POST /session/{sessionID}/shell", "session.shell", prompts.runShell),

		operation.New("GET /permission", "permission.list", asks.listPermissions),
		operation.New("POST /permission/{requestID}/reply", "permission.reply", asks.replyPermission),
		operation.New(
			"POST /session/{sessionID}/permissions/{permissionID}",
			"permission.respond",
			asks.respondPermission,
		),
		operation.New("GET /question", "question.list", asks.listQuestions),
		operation.New("POST /question/{requestID}/reply", "question.reply", asks.answerQuestion),
		operation.New("POST /question/{requestID}/reject", "question.reject", asks.rejectQuestion),
	}
}

// listLocationOperations are about what a location offers: agents, providers, settings, files.
func (d *deps) listLocationOperations() []operation.Operation {
	catalogs := catalogHandlers{d}
	settings := settingsHandlers{d}
	credentials := authHandlers{d}
	checkouts := checkoutHandlers{d}
	files := fileHandlers{d}
	return []operation.Operation{
		operation.New("GET /agent", "app.agents", listOf(catalogs, Catalog.Agents)),
		operation.New("GET /mode", "", listOf(catalogs, Catalog.Agents)),
		operation.New("GET /command", "command.list", listOf(catalogs, Catalog.Commands)),
		operation.New("GET /skill", "app.skills", listOf(catalogs, Catalog.Skills)),
		operation.New("GET /experimental/tool", "tool.list", catalogs.listTools),
		operation.New("GET /experimental/tool/ids", "tool.ids", catalogs.listToolIDs),
		operation.New("GET /config/providers", "config.providers", catalogs.listUsableProviders),
		operation.New("GET /provider", "provider.list", catalogs.listProviders),

		operation.New("GET /config", "config.get", listOf(catalogs, Catalog.Config)),
		operation.New("PATCH /config", "config.update", settings.update),
		operation.New("GET /global/config", "global.config.get", settings.getGlobal),
		operation.New("PATCH /global/config", "global.config.update", settings.updateGlobal),

		operation.New("PUT /auth/{providerID}", "auth.set", credentials.set),
		operation.New("DELETE /auth/{providerID}", "auth.remove", credentials.remove),
		operation.New("GET /provider/auth", "provider.auth", credentials.listMethods),
		operation.New("POST /provider/{providerID}/oauth/authorize", "provider.oauth.authorize", credentials.authorize),
		operation.New("POST /provider/{providerID}/oauth/callback", "provider.oauth.callback", credentials.finishLogin),

		operation.New("GET /vcs", "vcs.get", checkouts.listBranches),
		operation.New("GET /vcs/status", "vcs.status", checkouts.listChanges),
		operation.New("GET /vcs/diff", "vcs.diff", checkouts.diffFiles),
		operation.New("GET /vcs/diff/raw", "vcs.diff.raw", checkouts.rawDiff),
		operation.New("POST /vcs/apply", "vcs.apply", checkouts.applyPatch),

		operation.New("GET /file", "file.list", files.listFiles),
		operation.New("GET /file/content", "file.read", files.readFile),
		operation.New("GET /find", "find.text", files.searchText),
		operation.New("GET /find/file", "find.files", files.findFiles),
	}
}

// listTerminalOperations are about terminal interfaces and terminals.
func (d *deps) listTerminalOperations() []operation.Operation {
	tui := tuiHandlers{d}
	terminals := ptyHandlers{d}
	return []operation.Operation{
		operation.New("POST /tui/append-prompt", "tui.appendPrompt", publishBody[tuiText](tui, kindAppend, nil)),
		operation.New("POST /tui/open-help", "tui.openHelp", tui.publishCommand("help.show")),
		operation.New("POST /tui/open-sessions", "tui.openSessions", tui.publishCommand("session.list")),
		operation.New("POST /tui/open-themes", "tui.openThemes", tui.publishCommand("session.list")), // as in OpenCode
		operation.New("POST /tui/open-models", "tui.openModels", tui.publishCommand("model.list")),
		operation.New("POST /tui/submit-prompt", "tui.submitPrompt", tui.publishCommand("prompt.submit")),
		operation.New("POST /tui/clear-prompt", "tui.clearPrompt", tui.publishCommand("prompt.clear")),
		operation.New("POST /tui/execute-command", "tui.executeCommand",
			publishBody(tui, kindCommand, tuiCommand.withCurrentName)),
		operation.New("POST /tui/show-toast", "tui.showToast", publishBody(tui, kindToast, toast.withDuration)),
		operation.New("POST /tui/publish", "tui.publish", tui.publishEvent),
		operation.New("POST /tui/select-session", "tui.selectSession", tui.selectSession),
		operation.New("GET /tui/control/next", "tui.control.next", tui.nextControl),

		operation.New("GET /pty", "pty.list", terminals.list),
		operation.New("POST /pty", "pty.create", terminals.create),
		operation.New("GET /pty/shells", "pty.shells", terminals.listShells),
		operation.New("GET /pty/{ptyID}", "pty.get", terminals.get),
		operation.New("PUT /pty/{ptyID}", "pty.update", terminals.update),
		operation.New("DELETE /pty/{ptyID}", "pty.remove", terminals.remove),
		operation.New("GET /pty/{ptyID}/connect", "pty.connect", terminals.connect),
		operation.New("POST /pty/{ptyID}/connect-token", "pty.connectToken", terminals.createTicket),
	}
}
