package v1

import (
	"maps"
	"reflect"

	"github.com/cairn-dev/cairn/internal/opencode"
	"github.com/cairn-dev/cairn/internal/server/openapi"
	"github.com/cairn-dev/cairn/internal/session"
)

// described says of each operation, by its id, what it reads and answers.
func described() map[string]openapi.Operation {
	out := map[string]openapi.Operation{}
	for _, group := range []map[string]openapi.Operation{
		describedSessions(), describedTalk(), describedPlaces(), describedOffers(), describedFiles(), describedTerminals(), describedAbsent(),
	} {
		maps.Copy(out, group)
	}
	return out
}

func describedSessions() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"session.list":                    asked[[]opencode.Session]("scope=project", "path", "roots", "start#", "search", "limit#"),
		"session.create":                  exchanged[newSession, opencode.Session](),
		"session.status":                  asked[map[string]opencode.State](),
		"session.get":                     asked[opencode.Session](),
		"session.update":                  exchanged[sessionPatch, opencode.Session](),
		"session.delete":                  asked[bool](),
		"session.children":                asked[[]opencode.Session](),
		"session.todo":                    asked[[]session.Todo](),
		"session.diff":                    asked[[]opencode.FileDiff]("messageID"),
		"session.abort":                   asked[bool](),
		"session.fork":                    exchanged[forkAt, opencode.Session](),
		"session.share":                   asked[opencode.Session](),
		"session.unshare":                 asked[opencode.Session](),
		"session.revert":                  exchanged[revertTo, opencode.Session](),
		"session.unrevert":                asked[opencode.Session](),
		"session.init":                    changed[initOrder](),
		"session.summarize":               changed[summaryOrder](),
		"experimental.session.list":       asked[[]opencode.GlobalSession]("roots", "start#", "cursor#", "search", "limit#", "archived"),
		"experimental.session.background": asked[bool](),
	}
}

func describedTalk() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"session.messages":      asked[[]opencode.Message]("limit#", "before"),
		"session.message":       asked[opencode.Message](),
		"session.deleteMessage": asked[bool](),
		"part.delete":           asked[bool](),
		"part.update":           exchanged[opencode.Part, opencode.Part](),
		"session.prompt":        exchanged[opencode.PromptInput, opencode.Message](),
		"session.prompt_async":  {Body: is[opencode.PromptInput]()},
		"session.command":       exchanged[opencode.CommandInput, opencode.Message](),
		"session.shell":         exchanged[shellOrder, opencode.Message](),
		"permission.list":       asked[[]opencode.Permission](),
		"permission.reply":      changed[permissionReply](),
		"permission.respond":    changed[olderReply](),
		"question.list":         asked[[]opencode.Question](),
		"question.reply":        changed[answers](),
		"question.reject":       asked[bool](),
		"event.subscribe":       {Answer: is[busEvent](), Media: "text/event-stream"},
		"global.event":          {Answer: is[placed](), Media: "text/event-stream"},
	}
}

func describedPlaces() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"global.health":        asked[health](),
		"global.dispose":       asked[bool](),
		"global.upgrade":       exchanged[upgradeTo, upgraded](),
		"instance.dispose":     asked[bool](),
		"app.log":              changed[logEntry](),
		"path.get":             asked[paths](),
		"project.list":         asked[[]opencode.Project](),
		"project.current":      asked[opencode.Project](),
		"project.initGit":      asked[opencode.Project](),
		"project.update":       exchanged[projectChange, opencode.Project](),
		"project.directories":  asked[[]projectDirectory](),
		"vcs.get":              asked[branches](),
		"vcs.status":           asked[[]opencode.ChangedFile](),
		"vcs.diff":             asked[[]opencode.ChangedFile]("mode=git|branch!", "context#"),
		"vcs.diff.raw":         {Answer: is[string](), Media: "text/x-diff; charset=utf-8"},
		"vcs.apply":            exchanged[patchText, applied](),
		"config.get":           asked[map[string]anything](),
		"config.update":        exchanged[map[string]anything, map[string]anything](),
		"global.config.get":    asked[map[string]anything](),
		"global.config.update": exchanged[map[string]anything, map[string]anything](),
		"tui.appendPrompt":     changed[tuiText](),
		"tui.openHelp":         asked[bool](),
		"tui.openSessions":     asked[bool](),
		"tui.openThemes":       asked[bool](),
		"tui.openModels":       asked[bool](),
		"tui.submitPrompt":     asked[bool](),
		"tui.clearPrompt":      asked[bool](),
		"tui.executeCommand":   changed[tuiCommand](),
		"tui.showToast":        changed[toast](),
		"tui.publish":          changed[published](),
		"tui.selectSession":    changed[tuiSession](),
		"tui.control.next":     asked[control](),
		"tui.control.response": changed[anything](),
	}
}

func describedOffers() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"app.agents":               asked[[]opencode.Agent](),
		"command.list":             asked[[]opencode.Command](),
		"app.skills":               asked[[]opencode.Skill](),
		"tool.list":                asked[[]opencode.Tool]("provider!", "model!"),
		"tool.ids":                 asked[[]string](),
		"config.providers":         asked[usable](),
		"provider.list":            asked[allProviders](),
		"provider.auth":            asked[map[string][]authMethod](),
		"provider.oauth.authorize": exchanged[loginOrder, authorization](),
		"provider.oauth.callback":  exchanged[loginOrder, bool](),
		"auth.set":                 changed[credential](),
		"auth.remove":              asked[bool](),
	}
}

func describedFiles() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"file.list":    asked[[]opencode.FileNode]("path!"),
		"file.read":    asked[opencode.FileContent]("path!"),
		"file.status":  asked[noneYet](),
		"find.text":    asked[[]opencode.Match]("pattern!"),
		"find.files":   asked[[]string]("query!", "dirs=true|false", "type=file|directory", "limit#"),
		"find.symbols": asked[noneYet]("query!"),
	}
}

func describedTerminals() map[string]openapi.Operation {
	return map[string]openapi.Operation{
		"pty.list":         asked[[]terminal](),
		"pty.create":       exchanged[newTerminal, terminal](),
		"pty.shells":       asked[[]shell](),
		"pty.get":          asked[terminal](),
		"pty.update":       exchanged[terminalChange, terminal](),
		"pty.remove":       asked[bool](),
		"pty.connect":      asked[bool]("cursor", "ticket"),
		"pty.connectToken": asked[token](),
	}
}

// describedAbsent are the operations of absentRoutes.
func describedAbsent() map[string]openapi.Operation {
	out := map[string]openapi.Operation{
		"experimental.resource.list":            asked[emptyYet](),
		"experimental.capabilities.get":         asked[capabilities](),
		"experimental.console.get":              asked[consoleState](),
		"experimental.console.listOrgs":         asked[organisations](),
		"experimental.console.switchOrg":        changed[organisationChoice](),
		"worktree.create":                       exchanged[newWorktree, never](),
		"worktree.remove":                       changed[worktree](),
		"worktree.reset":                        changed[worktree](),
		"experimental.workspace.create":         exchanged[workspaceType, never](),
		"experimental.workspace.remove":         asked[never](),
		"experimental.workspace.syncList":       {},
		"experimental.workspace.warp":           {Body: is[warped]()},
		"experimental.controlPlane.moveSession": {Body: is[sessionMove]()},
		"v2.projectCopy.create":                 {Body: is[projectCopy](), Answer: is[never](), Query: query("location")},
		"v2.projectCopy.remove":                 {Body: is[goneCopy](), Query: query("location")},
		"v2.projectCopy.refresh":                {Query: query("location")},
		"experimental.projectCopy.generateName": exchanged[nameFor, never](),
		"sync.start":                            asked[bool](),
		"sync.replay":                           exchanged[anything, never](),
		"sync.steal":                            exchanged[anything, never](),
		"sync.history.list":                     exchanged[history, noneYet](),
		"mcp.status":                            asked[map[string]mcpStatus](),
		"mcp.add":                               exchanged[mcpServer, map[string]mcpStatus](),
		"mcp.auth.start":                        asked[never](),
		"mcp.auth.remove":                       asked[never](),
		"mcp.auth.callback":                     exchanged[loginCode, mcpStatus](),
		"mcp.auth.authenticate":                 asked[mcpStatus](),
		"mcp.connect":                           asked[bool](),
		"mcp.disconnect":                        asked[bool](),
	}
	for _, id := range []string{"lsp.status", "formatter.status", "worktree.list", "experimental.workspace.list", "experimental.workspace.adapter.list", "experimental.workspace.status"} {
		out[id] = openapi.Operation{Answer: reflect.TypeFor[noneYet]()}
	}
	return out
}
