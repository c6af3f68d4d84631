package v1

import (
	"net/http"
	"slices"

	"github.com/cairn-dev/cairn/internal/server/operation"
)

// ListOperations lists the operations of the contract.
func ListOperations() []operation.Operation { return (&dependencies{}).listOperations() }

// listOperations is the table of the contract. A row has the route, the operationId of OpenCode's document, "" for
// routes that only older clients call, and the handler, whose types give the parameters, the body and the response.
func (d *dependencies) listOperations() []operation.Operation {
	return slices.Concat(
		d.listInstanceOperations(),
		d.listSessionOperations(),
		d.listLocationOperations(),
		d.listTerminalOperations(),
		d.listMCPOperations(),
		d.listLanguageOperations(),
		d.listWorktreeOperations(), d.listUnimplemented(),
	)
}

// listInstanceOperations are about the server, its locations and its streams.
func (d *dependencies) listInstanceOperations() []operation.Operation {
	instances := instanceHandlers{d}
	events := eventHandlers{d}
	return []operation.Operation{
		operation.New("read GET /global/health Return the version of the server", "global.health", instances.getHealth),
		operation.New("read GET /health", "", instances.getHealth),
		operation.New("admin POST /global/dispose Release the state of all locations",
			"global.dispose", instances.disposeAll),
		operation.New("admin POST /instance/dispose Release the state of a location",
			"instance.dispose", instances.disposeInstance),
		operation.New("prompt POST /log Write an entry to the server log", "app.log", instances.writeLog),
		operation.New("read GET /path Return the directories of the server", "path.get", instances.getPaths),
		operation.New("read GET /project List the projects", "project.list", instances.listProjects),
		operation.New("read GET /project/current Return the project of a location",
			"project.current", instances.getProject),
		operation.New("approve POST /project/git/init Initialise a git repository",
			"project.initGit", instances.initRepository),
		operation.New("approve PATCH /project/{projectID} Change a project", "project.update", instances.updateProject),
		operation.New("read GET /project/{projectID}/directories List the directories of a project",
			"project.directories", instances.listProjectDirectories),
		operation.New("read GET /app", "", instances.getApp),
		operation.New("read GET /doc", "", d.writeDocument),
		operation.New("read GET /metrics", "", instances.getMetrics),

		operation.New("read GET /event Stream the events of a location", "event.subscribe", events.subscribe),
		operation.New("read GET /global/event Stream the events of all locations", "global.event", events.subscribeGlobal),
	}
}

// listSessionOperations are about sessions and their messages.
func (d *dependencies) listSessionOperations() []operation.Operation {
	sessions := sessionHandlers{d}
	shares := shareHandlers{sessions}
	messages := messageHandlers{d}
	prompts := promptHandlers{d}
	asks := askHandlers{d}
	// Sessions first, then their messages, prompts and other work, permissions and questions.
	return []operation.Operation{
		operation.New("read GET /session List the sessions of a project", "session.list", sessions.listSessions),
		operation.New("prompt POST /session Create a session", "session.create", sessions.create),
		operation.New("read GET /session/status List the states of the working sessions",
			"session.status", sessions.listStatuses),
		operation.New("read GET /session/{sessionID} Return a session", "session.get", sessions.get),
		operation.New("prompt PATCH /session/{sessionID} Change a session", "session.update", sessions.update),
		operation.New("prompt DELETE /session/{sessionID} Delete a session and its children",
			"session.delete", sessions.delete),
		operation.New("prompt POST /experimental/control-plane/move-session Move a session to another directory",
			"experimental.controlPlane.moveSession", sessions.move),
		operation.New("read GET /session/{sessionID}/children List the children of a session",
			"session.children", sessions.listChildren),
		operation.New("read GET /session/{sessionID}/todo List the todos of a session", "session.todo", sessions.listTodos),
		operation.New("read GET /session/{sessionID}/diff List the changes of a message",
			"session.diff", sessions.listDiffs),
		operation.New("prompt POST /session/{sessionID}/revert Revert a session to a message",
			"session.revert", sessions.revertSession).WithStatuses(http.StatusConflict),
		operation.New("prompt POST /session/{sessionID}/unrevert Undo the revert of a session",
			"session.unrevert", sessions.unrevertSession).WithStatuses(http.StatusConflict),
		operation.New("prompt POST /session/{sessionID}/fork Copy a session up to a message",
			"session.fork", sessions.forkSession),
		operation.New("prompt POST /session/{sessionID}/abort Interrupt the work of a session",
			"session.abort", sessions.abortSession),
		operation.New("read GET /experimental/session List the sessions of all projects",
			"experimental.session.list", sessions.listGlobal),

		operation.New("read GET /session/{sessionID}/message List the messages of a session",
			"session.messages", messages.listMessages),
		operation.New("read GET /session/{sessionID}/message/{messageID} Return a message",
			"session.message", messages.get),
		operation.New("prompt DELETE /session/{sessionID}/message/{messageID} Delete a message",
			"session.deleteMessage", messages.delete).WithStatuses(http.StatusConflict),
		operation.New("prompt DELETE /session/{sessionID}/message/{messageID}/part/{partID} Delete a part of a message",
			"part.delete", messages.deletePart),
		operation.New("prompt PATCH /session/{sessionID}/message/{messageID}/part/{partID} Change a part of a message",
			"part.update", messages.updatePart),

		operation.New("prompt POST /session/{sessionID}/message Prompt a session and wait for the answer",
			"session.prompt", prompts.runPrompt).WithStatuses(http.StatusConflict),
		operation.New("prompt POST /session/{sessionID}/prompt_async Prompt a session",
			"session.prompt_async", prompts.startPrompt).WithStatuses(http.StatusConflict),
		operation.New("prompt POST /session/{sessionID}/command Run a command in a session and wait for the answer",
			"session.command", prompts.runCommand).WithStatuses(http.StatusConflict),
		operation.New("prompt POST /session/{sessionID}/init Let the model write AGENTS.md and wait for the answer",
			"session.init", prompts.runInit).WithStatuses(http.StatusConflict),
		operation.New("admin POST /session/{sessionID}/share Share a session",
			"session.share", shares.share).WithStatuses(http.StatusConflict),
		operation.New("admin DELETE /session/{sessionID}/share End the sharing of a session",
			"session.unshare", shares.unshare).WithStatuses(http.StatusConflict),
		operation.New("prompt POST /session/{sessionID}/summarize Replace the history of a session by a summary",
			"session.summarize", prompts.summarizeSession).WithStatuses(http.StatusConflict),
		operation.New("approve POST /session/{sessionID}/shell Run a shell command of the user in a session",
			"session.shell", prompts.runShell).WithStatuses(http.StatusConflict),

		operation.New("read GET /permission List the pending permission requests", "permission.list", asks.listPermissions),
		operation.New("approve POST /permission/{requestID}/reply Answer a permission request",
			"permission.reply", asks.replyPermission),
		operation.New(
			"approve POST /session/{sessionID}/permissions/{permissionID} Answer a permission request of a session",
			"permission.respond", asks.respondPermission,
		),
		operation.New("read GET /question List the pending questions", "question.list", asks.listQuestions),
		operation.New("approve POST /question/{requestID}/reply Answer a question", "question.reply", asks.answerQuestion),
		operation.New("approve POST /question/{requestID}/reject Reject a question",
			"question.reject", asks.rejectQuestion),
	}
}

// listLocationOperations are about what a location offers: agents, providers, settings, files.
func (d *dependencies) listLocationOperations() []operation.Operation {
	catalogs := catalogHandlers{d}
	settings := settingsHandlers{d}
	credentials := authHandlers{d}
	checkouts := checkoutHandlers{d}
	files := fileHandlers{d}
	// Agents, commands, skills, tools and models first, then settings, credentials, version control and files.
	return []operation.Operation{
		operation.New("read GET /agent List the agents of a location", "app.agents",
			listOf(catalogs, (*Location).listAgents)),
		operation.New("read GET /mode", "", listOf(catalogs, (*Location).listAgents)),
		operation.New("read GET /command List the commands of a location",
			"command.list", listOf(catalogs, (*Location).listCommands)),
		operation.New("read GET /skill List the skills of a location", "app.skills",
			listOf(catalogs, (*Location).listSkills)),
		operation.New("read GET /experimental/tool List the tools of a model with their parameters",
			"tool.list", catalogs.listTools),
		operation.New("read GET /experimental/tool/ids List the names of the tools", "tool.ids", catalogs.listToolIDs),
		operation.New("read GET /config/providers List the providers that can be used and their default models",
			"config.providers", catalogs.listUsableProviders),
		operation.New("read GET /provider List the providers and their models", "provider.list", catalogs.listProviders),

		operation.New("read GET /config Return the configuration of a location",
			"config.get", listOf(catalogs, (*Location).settings)),
		operation.New("admin PATCH /config Change the configuration of a project", "config.update", settings.update),
		operation.New("read GET /global/config Return the user's configuration", "global.config.get", settings.getGlobal),
		operation.New("admin PATCH /global/config Change the user's configuration",
			"global.config.update", settings.updateGlobal),

		operation.New("admin PUT /auth/{providerID} Store a credential of a provider", "auth.set", credentials.set),
		operation.New("admin DELETE /auth/{providerID} Delete the stored credential of a provider",
			"auth.remove", credentials.remove),
		operation.New("read GET /provider/auth List the login methods of the providers",
			"provider.auth", credentials.listMethods),
		operation.New("admin POST /provider/{providerID}/oauth/authorize Start a login at a provider",
			"provider.oauth.authorize", credentials.authorize),
		operation.New("admin POST /provider/{providerID}/oauth/callback Finish a login at a provider",
			"provider.oauth.callback", credentials.finishLogin),

		operation.New("read GET /vcs Return the branch and the default branch", "vcs.get", checkouts.listBranches),
		operation.New("read GET /vcs/status List the changed files of the working tree",
			"vcs.status", checkouts.listChanges),
		operation.New("read GET /vcs/diff List the changes of the working tree with their patches",
			"vcs.diff", checkouts.diffFiles),
		operation.New("read GET /vcs/diff/raw Return the changes of the working tree as one patch",
			"vcs.diff.raw", checkouts.rawDiff),
		operation.New("approve POST /vcs/apply Apply a patch to the working tree", "vcs.apply", checkouts.applyPatch),

		operation.New("read GET /file List the files of a directory", "file.list", files.listFiles),
		operation.New("read GET /file/content Return the content of a file", "file.read", files.readFile),
		operation.New("read GET /find Search the text of files", "find.text", files.searchText),
		operation.New("read GET /find/file Search files and directories by name", "find.files", files.findFiles),
	}
}

// listTerminalOperations are about terminal interfaces and terminals.
func (d *dependencies) listTerminalOperations() []operation.Operation {
	tui := tuiHandlers{d}
	terminals := ptyHandlers{d}
	// The terminal interface first, then terminals. Starting one runs programs, so it requires admin.
	return []operation.Operation{
		operation.New("approve POST /tui/append-prompt Append text to the prompt of the terminal interface",
			"tui.appendPrompt", publishBody[tuiText](tui, kindAppend, nil)),
		operation.New("approve POST /tui/open-help Open the help of the terminal interface",
			"tui.openHelp", tui.publishCommand("help.show")),
		operation.New("approve POST /tui/open-sessions Open the sessions of the terminal interface",
			"tui.openSessions", tui.publishCommand("session.list")),
		operation.New("approve POST /tui/open-themes Open the themes of the terminal interface",
			"tui.openThemes", tui.publishCommand("session.list")), // as in OpenCode
		operation.New("approve POST /tui/open-models Open the models of the terminal interface",
			"tui.openModels", tui.publishCommand("model.list")),
		operation.New("approve POST /tui/submit-prompt Submit the prompt of the terminal interface",
			"tui.submitPrompt", tui.publishCommand("prompt.submit")),
		operation.New("approve POST /tui/clear-prompt Clear the prompt of the terminal interface",
			"tui.clearPrompt", tui.publishCommand("prompt.clear")),
		operation.New("approve POST /tui/execute-command Run a command of the terminal interface",
			"tui.executeCommand", publishBody(tui, kindCommand, tuiCommand.withCurrentName)),
		operation.New("approve POST /tui/show-toast Show a notice in the terminal interface",
			"tui.showToast", publishBody(tui, kindToast, toast.withDuration)),
		operation.New("approve POST /tui/publish Publish an event of the terminal interface",
			"tui.publish", tui.publishEvent),
		operation.New("approve POST /tui/select-session Show a session in the terminal interface",
			"tui.selectSession", tui.selectSession),
		operation.New("approve GET /tui/control/next Wait for the next request to the terminal interface",
			"tui.control.next", tui.nextControl),

		operation.New("read GET /pty List the terminals", "pty.list", terminals.list),
		operation.New("admin POST /pty Start a terminal",
			"pty.create", terminals.create).WithStatuses(http.StatusTooManyRequests),
		operation.New("read GET /pty/shells List the shells of this machine", "pty.shells", terminals.listShells),
		operation.New("read GET /pty/{ptyID} Return a terminal", "pty.get", terminals.get),
		operation.New("admin PUT /pty/{ptyID} Change the title or the size of a terminal", "pty.update", terminals.update),
		operation.New("admin DELETE /pty/{ptyID} Close a terminal", "pty.remove", terminals.remove),
		operation.New("admin GET /pty/{ptyID}/connect Connect to a terminal through a WebSocket",
			"pty.connect", terminals.connect),
		operation.New("admin POST /pty/{ptyID}/connect-token Create a ticket that connects to a terminal",
			"pty.connectToken", terminals.createTicket),
	}
}
