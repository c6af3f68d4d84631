package v1

import (
	"net/http"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/server/httpio"
	"github.com/cairn-dev/cairn/internal/session"
	"github.com/cairn-dev/cairn/internal/store"
)

// absentRoutes are the operations of what there is not yet: they answer what an OpenCode answers that has none of it
// configured (docs/differences.md).
func absentRoutes() []Route {
	return []Route{
		{get, "/lsp", "lsp.status", none},
		{get, "/formatter", "formatter.status", none},
		{get, "/find/symbol", "find.symbols", (*API).symbols},
		{get, "/experimental/resource", "experimental.resource.list", empty},
		{get, "/experimental/capabilities", "experimental.capabilities.get", always(capabilities{})},
		{get, "/experimental/console", "experimental.console.get", always(consoleState{Providers: []string{}})},
		{get, "/experimental/console/orgs", "experimental.console.listOrgs", always(organisations{Orgs: []organisation{}})},
		{post, "/experimental/console/switch", "experimental.console.switchOrg", reading[organisationChoice](refuse("body", "orgID", "there is no organisation here"))},
		{get, "/experimental/worktree", "worktree.list", none},
		{post, "/experimental/worktree", "worktree.create", reading[newWorktree](failing("WorktreeCreateFailedError", "cairn makes no worktrees yet"))},
		{del, "/experimental/worktree", "worktree.remove", reading[worktree](failing("WorktreeRemoveFailedError", "there is no such worktree"))},
		{post, "/experimental/worktree/reset", "worktree.reset", reading[worktree](failing("WorktreeResetFailedError", "there is no such worktree"))},
		{get, "/experimental/workspace", "experimental.workspace.list", none},
		{post, "/experimental/workspace", "experimental.workspace.create", (*API).createWorkspace},
		{get, "/experimental/workspace/adapter", "experimental.workspace.adapter.list", none},
		{get, "/experimental/workspace/status", "experimental.workspace.status", none},
		{post, "/experimental/workspace/sync-list", "experimental.workspace.syncList", nothing},
		{post, "/experimental/workspace/warp", "experimental.workspace.warp", (*API).warp},
		{del, "/experimental/workspace/{id}", "experimental.workspace.remove", (*API).removeWorkspace},
		{post, "/experimental/control-plane/move-session", "experimental.controlPlane.moveSession", reading[sessionMove](failing("MoveSessionError", "cairn moves no sessions yet"))},
		{post, "/experimental/session/{sessionID}/background", "experimental.session.background", fixed(`false`)},
		{post, "/experimental/project/{projectID}/copy", "v2.projectCopy.create", reading[projectCopy](failing("ProjectCopyError", "cairn copies no projects yet"))},
		{del, "/experimental/project/{projectID}/copy", "v2.projectCopy.remove", reading[goneCopy](failing("ProjectCopyError", "there is no such copy"))},
		{post, "/experimental/project/{projectID}/copy/refresh", "v2.projectCopy.refresh", nothing},
		{post, "/experimental/project/{projectID}/copy/generate-name", "experimental.projectCopy.generateName", reading[nameFor](refuse("params", "projectID", "cairn copies no projects yet"))},
		{post, "/global/upgrade", "global.upgrade", (*API).upgrade},
		{post, "/sync/start", "sync.start", fixed(`true`)},
		{post, "/sync/replay", "sync.replay", (*API).noSync},
		{post, "/sync/steal", "sync.steal", (*API).noSync},
		{post, "/sync/history", "sync.history.list", reading[history](none)},

		{get, "/mcp", "mcp.status", empty},
		{post, "/mcp", "mcp.add", (*API).addMCP},
		{post, "/mcp/{name}/auth", "mcp.auth.start", unknown("mcp", "name")},
		{del, "/mcp/{name}/auth", "mcp.auth.remove", unknown("mcp", "name")},
		{post, "/mcp/{name}/auth/callback", "mcp.auth.callback", reading[loginCode](unknown("mcp", "name"))},
		{post, "/mcp/{name}/auth/authenticate", "mcp.auth.authenticate", unknown("mcp", "name")},
		{post, "/mcp/{name}/connect", "mcp.connect", unknown("mcp", "name")},
		{post, "/mcp/{name}/disconnect", "mcp.disconnect", unknown("mcp", "name")},
	}
}

type handler = func(a *API, w http.ResponseWriter, r *http.Request) error

// fixed answers the JSON, for every location.
func fixed(body string) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		if _, err := a.locate(r); err != nil {
			return err
		}
		return httpio.WriteJSON(w, http.StatusOK, []byte(body))
	}
}

// capabilities are what an OpenCode can do beyond others.
type capabilities struct {
	Background bool `json:"backgroundSubagents"`
}

type consoleState struct {
	Providers     []string `json:"consoleManagedProviders"`
	Active        string   `json:"activeOrgName,omitzero"`
	Organisations int      `json:"switchableOrgCount"`
}

type organisations struct {
	Orgs []organisation `json:"orgs"`
}

// organisation is one of OpenCode's console: nobody is logged in there.
type organisation struct {
	AccountID    string `json:"accountID"`
	AccountEmail string `json:"accountEmail"`
	AccountURL   string `json:"accountUrl"`
	OrgID        string `json:"orgID"`
	OrgName      string `json:"orgName"`
	Active       bool   `json:"active"`
}

// always answers v, for every location.
func always(v any) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		if _, err := a.locate(r); err != nil {
			return err
		}
		return write(w, v)
	}
}

func none(a *API, w http.ResponseWriter, r *http.Request) error  { return fixed(`[]`)(a, w, r) }
func empty(a *API, w http.ResponseWriter, r *http.Request) error { return fixed(`{}`)(a, w, r) }

func nothing(a *API, w http.ResponseWriter, r *http.Request) error {
	if _, err := a.locate(r); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// failing answers 400 with an error of the name.
func failing(name, message string) handler {
	return func(a *API, w http.ResponseWriter, r *http.Request) error {
		if _, err := a.locate(r); err != nil {
			return err
		}
		return writeStatus(w, http.StatusBadRequest, envelope(name, message))
	}
}

func refuse(part, field, message string) handler {
	return func(*API, http.ResponseWriter, *http.Request) error {
		return httpio.Invalid(part, field, "%s", message)
	}
}

// unknown says that there is nothing of the kind with the id in the path.
func unknown(kind, parameter string) handler {
	return func(_ *API, _ http.ResponseWriter, r *http.Request) error {
		return session.NotFound(kind, r.PathValue(parameter))
	}
}

func (a *API) symbols(w http.ResponseWriter, r *http.Request) error {
	if _, err := needed(r, "query"); err != nil {
		return err
	}
	return none(a, w, r)
}

func (a *API) removeWorkspace(_ http.ResponseWriter, r *http.Request) error {
	id := r.PathValue("id")
	if err := session.CheckID("id", "wrk", id); err != nil {
		return httpio.WithPart("params", err)
	}
	return session.NotFound("workspace", id)
}

type workspaceType struct {
	Type *string `json:"type"`
}

func (a *API) createWorkspace(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[workspaceType](r)
	if err != nil {
		return err
	}
	if b.Type == nil {
		return httpio.Invalid("body", "type", "type is missing")
	}
	return writeStatus(w, http.StatusBadRequest, envelope("WorkspaceCreateError", "Unknown workspace adapter: "+httpio.Clip(*b.Type, maxID)))
}

type warped struct {
	ID          jsontext.Value `json:"id" is:"string"` // null: out of its workspace
	SessionID   *string        `json:"sessionID"`
	CopyChanges bool           `json:"copyChanges"`
}

// warp brings a session into a workspace, of which there are none, or out of it: no session is in one.
func (a *API) warp(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[warped](r)
	if err != nil {
		return err
	}
	workspace, err := b.workspace()
	switch {
	case err != nil:
		return err
	case b.SessionID == nil:
		return httpio.Invalid("body", "sessionID", "sessionID is missing")
	case workspace != "":
		return session.NotFound("workspace", workspace)
	}
	id := session.ID(*b.SessionID)
	if err := session.CheckID("sessionID", session.PrefixSession, string(id)); err != nil {
		return inBody(err)
	}
	if _, err := view(r.Context(), a, func(rd store.Reader) (*session.Session, error) { return mustSession(rd, id) }); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// workspace is "" for none.
func (b warped) workspace() (id string, err error) {
	switch {
	case b.ID == nil:
		return "", httpio.Invalid("body", "id", "id is missing; null is none")
	case b.ID.Kind() == 'n':
		return "", nil
	case json.Unmarshal(b.ID, &id) != nil:
		return "", httpio.Invalid("body", "id", "id must be text, or null")
	default:
		return id, nil
	}
}

type upgradeTo struct {
	Target string `json:"target"`
}

type upgraded struct {
	Success bool   `json:"success"`
	Version string `json:"version,omitzero"`
	Error   string `json:"error,omitzero"`
}

// upgrade refuses: whoever installed cairn upgrades it.
func (a *API) upgrade(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[upgradeTo](r)
	if err == nil {
		err = needs("target", b.Target)
	}
	if err != nil {
		return err
	}
	return write(w, upgraded{Error: "cairn does not change itself; install the new version as you installed this one"})
}

// noSync answers as an OpenCode without workspaces.
func (a *API) noSync(w http.ResponseWriter, r *http.Request) error {
	if _, err := httpio.Decode[jsontext.Value](r); err != nil {
		return err
	}
	return writeStatus(w, http.StatusBadRequest, bare{"BadRequest"})
}

type mcpServer struct {
	Name   *string    `json:"name"`
	Config *mcpConfig `json:"config"`
}

// mcpConfig is how a server is reached: by a command, or at an address.
type mcpConfig struct {
	Type        string            `json:"type" enum:"local,remote"`
	Command     []string          `json:"command"`
	Cwd         string            `json:"cwd"`
	Environment map[string]string `json:"environment"`
	URL         string            `json:"url"`
	Headers     map[string]string `json:"headers"`
	OAuth       jsontext.Value    `json:"oauth"`
	Enabled     bool              `json:"enabled"`
	Timeout     int64             `json:"timeout"` // milliseconds
}

func (c mcpConfig) check() error {
	switch {
	case c.Type == "local" && len(c.Command) == 0:
		return httpio.Invalid("body", "config.command", "config.command is missing")
	case c.Type == "remote" && c.URL == "":
		return httpio.Invalid("body", "config.url", "config.url is missing")
	case c.Type != "local" && c.Type != "remote":
		return httpio.Invalid("body", "config.type", "config.type must be local or remote, got %q", httpio.Clip(c.Type, 40))
	}
	return nil
}

type mcpStatus struct {
	Status string `json:"status" enum:"connected,disabled,failed,needs_auth,needs_client_registration"`
	Error  string `json:"error,omitzero"`
}

// addMCP says that the server cannot be reached, as OpenCode does of one that it cannot start.
func (a *API) addMCP(w http.ResponseWriter, r *http.Request) error {
	b, err := httpio.Decode[mcpServer](r)
	switch {
	case err != nil:
		return err
	case b.Name == nil:
		return httpio.Invalid("body", "name", "name is missing")
	case b.Config == nil:
		return httpio.Invalid("body", "config", "config is missing")
	}
	if err := b.Config.check(); err != nil {
		return err
	}
	return write(w, map[string]mcpStatus{*b.Name: {"failed", "cairn does not connect to MCP servers yet"}})
}
