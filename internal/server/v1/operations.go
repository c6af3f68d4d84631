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
		operation.New("read GET /global/health", "global.health", instances.getHealth),
		operation.New("admin POST /global/dispose", "global.dispose", instances.disposeAll),
		operation.New("admin POST /instance/dispose", "instance.dispose", instances.disposeInstance),
		operation.New("prompt POST /log", "app.log", instances.writeLog),
		operation.New("read GET /path", "path.get", instances.getPaths),
		operation.New("read GET /project", "project.list", instances.listProjects),
		operation.New("read GET /project/current", "project.current", instances.getProject),
		operation.New("approve POST /project/git/init", "project.initGit", instances.getProject),
		operation.New("approve PATCH /project/{projectID}", "project.update", instances.updateProject),
		operation.New(
			"read GET /project/{projectID}/directories",
			"project.directories",
			instances.listProjectDirectories,
		),
		operation.New("read GET /app", "", instances.getApp),
		operation.New("read GET /doc", "", d.writeDocument),

		operation.New("read GET /event", "event.subscribe", events.subscribe),
		operation.New("read GET /global/event", "global.event", events.subscribeGlobal),
	}
}

// listSessionOperations are about sessions and their messages.
func (d *deps) listSessionOperations() []operation.Operation {
	sessions := sessionHandlers{d}
	messages := messageHandlers{d}
	prompts := promptHandlers{d}
	asks := askHandlers{d}
	return []operation.Operation{
		operation.New("read GET /session", "session.list", sessions.listSessions),
		operation.New("prompt POST /session", "session.create", sessions.create),
		operation.New("read GET /session/status", "session.status", sessions.listStatuses),
		operation.New("read GET /session/{sessionID}", "session.get", sessions.get),
		operation.New("prompt PATCH /session/{sessionID}", "session.update", sessions.update),
		operation.New("prompt DELETE /session/{sessionID}", "session.delete", sessions.delete),
		operation.New("read GET /session/{sessionID}/children", "session.children", sessions.listChildren),
		operation.New("read GET /session/{sessionID}/todo", "session.todo", sessions.listTodos),
		operation.New("read GET /session/{sessionID}/diff", "session.diff", sessions.listDiffs),
		operation.New("prompt POST /session/{sessionID}/abort", "session.abort", sessions.abortSession),
		operation.New("read GET /experimental/session", "experimental.session.list", sessions.listGlobal),

		operation.New("read GET /session/{sessionID}/message", "session.messages", messages.listMessages),
		operation.New("read GET /session/{sessionID}/message/{messageID}", "session.message", messages.get),
		operation.New(
			"prompt DELETE /session/{sessionID}/message/{messageID}",
			"session.deleteMessage",
			messages.delete,
		),
		operation.New(
			"prompt DELETE /session/{sessionID}/message/{messageID}/part/{partID}",
			"part.delete",
			messages.deletePart,
		),
		operation.New(
			"prompt PATCH /session/{sessionID}/message/{messageID}/part/{partID}",
			"part.update",
			messages.updatePart,
		),

		operation.New("prompt POST /session/{sessionID}/message", "session.prompt", prompts.runPrompt),
		operation.New("prompt POST /session/{sessionID}/prompt_async", "session.prompt_async", prompts.startPrompt),
		operation.New("prompt POST /session/{sessionID}/command", "session.command", prompts.runCommand),
		operation.New("prompt POST /session/{sessionID}/init", "session.init", prompts.runInit),
		operation.New("approve POST /session/{sessionID}/shell", "session.shell", prompts.runShell),

		operation.New("read GET /permission", "permission.list", asks.listPermissions),
		operation.New("approve POST /permission/{requestID}/reply", "permission.reply", asks.replyPermission),
		operation.New(
			"approve POST /session/{sessionID}/permissions/{permissionID}",
			"permission.respond",
			asks.respondPermission,
		),
		operation.New("read GET /question", "question.list", asks.listQuestions),
		operation.New("approve POST /question/{requestID}/reply", "question.reply", asks.answerQuestion),
		operation.New("approve POST /question/{requestID}/reject", "question.reject", asks.rejectQuestion),
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
		operation.New("read GET /agent", "app.agents", listOf(catalogs, Catalog.Agents)),
		operation.New("read GET /mode", "", listOf(catalogs, Catalog.Agents)),
		operation.New("read GET /command", "command.list", listOf(catalogs, Catalog.Commands)),
		operation.New("read GET /skill", "app.skills", listOf(catalogs, Catalog.Skills)),
		operation.New("read GET /experimental/tool", "tool.list", catalogs.listTools),
		operation.New("read GET /experimental/tool/ids", "tool.ids", catalogs.listToolIDs),
		operation.New("read GET /config/providers", "config.providers", catalogs.listUsableProviders),
		operation.New("read GET /provider", "provider.list", catalogs.listProviders),

		operation.New("read GET /config", "config.get", listOf(catalogs, Catalog.Config)),
		operation.New("admin PATCH /config", "config.update", settings.update),
		operation.New("read GET /global/config", "global.config.get", settings.getGlobal),
		operation.New("admin PATCH /global/config", "global.config.update", settings.updateGlobal),

		operation.New("admin PUT /auth/{providerID}", "auth.set", credentials.set),
		operation.New("admin DELETE /auth/{providerID}", "auth.remove", credentials.remove),
		operation.New("read GET /provider/auth", "provider.auth", credentials.listMethods),
		operation.New(
			"admin POST /provider/{providerID}/oauth/authorize",
			"provider.oauth.authorize",
			credentials.authorize,
		),
		operation.New(
			"admin POST /provider/{providerID}/oauth/callback",
			"provider.oauth.callback",
			credentials.finishLogin,
		),

		operation.New("read GET /vcs", "vcs.get", checkouts.listBranches),
		operation.New("read GET /vcs/status", "vcs.status", checkouts.listChanges),
		operation.New("read GET /vcs/diff", "vcs.diff", checkouts.diffFiles),
		operation.New("read GET /vcs/diff/raw", "vcs.diff.raw", checkouts.rawDiff),
		operation.New("approve POST /vcs/apply", "vcs.apply", checkouts.applyPatch),

		operation.New("read GET /file", "file.list", files.listFiles),
		operation.New("read GET /file/content", "file.read", files.readFile),
		operation.New("read GET /find", "find.text", files.searchText),
		operation.New("read GET /find/file", "find.files", files.findFiles),
	}
}

// listTerminalOperations are about terminal interfaces and terminals.
func (d *deps) listTerminalOperations() []operation.Operation {
	tui := tuiHandlers{d}
	terminals := ptyHandlers{d}
	return []operation.Operation{
		operation.New(
			"approve POST /tui/append-prompt",
			"tui.appendPrompt",
			publishBody[tuiText](tui, kindAppend, nil),
		),
		operation.New("approve POST /tui/open-help", "tui.openHelp", tui.publishCommand("help.show")),
		operation.New("approve POST /tui/open-sessions", "tui.openSessions", tui.publishCommand("session.list")),
		operation.New(
			"approve POST /tui/open-themes",
			"tui.openThemes",
			tui.publishCommand("session.list"),
		), // as in OpenCode
		operation.New("approve POST /tui/open-models", "tui.openModels", tui.publishCommand("model.list")),
		operation.New("approve POST /tui/submit-prompt", "tui.submitPrompt", tui.publishCommand("prompt.submit")),
		operation.New("approve POST /tui/clear-prompt", "tui.clearPrompt", tui.publishCommand("prompt.clear")),
		operation.New("approve POST /tui/execute-command", "tui.executeCommand",
			publishBody(tui, kindCommand, tuiCommand.withCurrentName)),
		operation.New("approve POST /tui/show-toast", "tui.showToast", publishBody(tui, kindToast, toast.withDuration)),
		operation.New("approve POST /tui/publish", "tui.publish", tui.publishEvent),
		operation.New("approve POST /tui/select-session", "tui.selectSession", tui.selectSession),
		operation.New("approve GET /tui/control/next", "tui.control.next", tui.nextControl),

		operation.New("read GET /pty", "pty.list", terminals.list),
		operation.New("admin POST /pty", "pty.create", terminals.create),
		operation.New("read GET /pty/shells", "pty.shells", terminals.listShells),
		operation.New("read GET /pty/{ptyID}", "pty.get", terminals.get),
		operation.New("admin PUT /pty/{ptyID}", "pty.update", terminals.update),
		operation.New("admin DELETE /pty/{ptyID}", "pty.remove", terminals.remove),
		operation.New("admin GET /pty/{ptyID}/connect", "pty.connect", terminals.connect),
		operation.New("admin POST /pty/{ptyID}/connect-token", "pty.connectToken", terminals.createTicket),
	}
}
