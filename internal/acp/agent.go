package acp

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/cairn-dev/cairn/internal/acp/v1"
	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// agent answers one client.
type agent struct {
	options   Options
	conn      *conn
	life      context.Context // of the sessions that are followed
	ids       session.IDs
	following sync.WaitGroup

	mu       sync.Mutex // guards the rest
	dialect  dialect    // nil before initialize
	features clientFeatures
	sessions map[session.ID]*liveSession
	servers  map[string]string // MCP servers of the client that were added, by directory and name
}

// handle begins to answer a request, or takes a notification.
func (a *agent) handle(method string, params jsontext.Value) func(ctx context.Context) (any, error) {
	if method == "initialize" {
		return result(a.initialize(params))
	}
	d := a.currentDialect()
	if d == nil {
		return result(nil, rpcErrorf(codeInvalidRequest, "the first request must be initialize"))
	}
	switch method {
	case "session/cancel":
		a.cancel(params)
		return nil
	case "session/prompt": // begins here, so that a cancel behind it finds it
		return a.prompt(params)
	}
	run := a.methods()[method]
	if _, isV1 := d.(dialect1); run == nil || run.v1Only && !isV1 || run.v2Only && isV1 {
		return nil
	}
	return func(ctx context.Context) (any, error) { return run.call(ctx, params) }
}

// result is a function that returns what is known already.
func result(v any, err error) func(context.Context) (any, error) {
	return func(context.Context) (any, error) { return v, err }
}

// method answers a request.
type method struct {
	call           func(ctx context.Context, params jsontext.Value) (any, error)
	v1Only, v2Only bool
}

func (a *agent) methods() map[string]*method {
	return map[string]*method{
		"authenticate":              {call: a.authenticate, v1Only: true},
		"auth/login":                {call: a.authenticate, v2Only: true},
		"session/new":               {call: a.newSession},
		"session/load":              {call: a.loadSession, v1Only: true},
		"session/resume":            {call: a.resumeSession},
		"session/fork":              {call: a.forkSession},
		"session/list":              {call: a.listSessions},
		"session/close":             {call: a.closeSession},
		"session/delete":            {call: a.deleteSession},
		"session/set_mode":          {call: a.setMode, v1Only: true},
		"session/set_config_option": {call: a.setOption},
	}
}

func (a *agent) currentDialect() dialect {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.dialect
}

// initialize negotiates the version: that of the client if it is known here, else the newest.
func (a *agent) initialize(params jsontext.Value) (any, error) {
	var version struct {
		ProtocolVersion int64 `json:"protocolVersion"`
	}
	if err := decodeParams(params, &version); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if version.ProtocolVersion == 1 || version.ProtocolVersion == 0 {
		var r v1.InitializeRequest
		if err := decodeParams(params, &r); err != nil {
			return nil, err
		}
		c := r.ClientCapabilities
		a.features = clientFeatures{
			form:     c.Elicitation != nil && c.Elicitation.Form != nil,
			terminal: c.Auth.Terminal, readFile: c.Fs.ReadTextFile,
			notices: c.Session != nil && c.Session.Notices != nil,
		}
		a.dialect = dialect1{a.features}
	} else {
		var r v2.InitializeRequest
		if err := decodeParams(params, &r); err != nil {
			return nil, err
		}
		c := r.Capabilities
		a.features = clientFeatures{
			form:     c.Elicitation != nil && c.Elicitation.Form != nil,
			terminal: c.Auth != nil && c.Auth.Terminal != nil,
		}
		a.dialect = dialect2{a.features}
	}
	return a.dialect.initialize(a.options), nil
}

// authenticate succeeds if a model of a provider can be used.
func (a *agent) authenticate(ctx context.Context, _ jsontext.Value) (any, error) {
	models, err := a.options.Client.Models(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(models.Data, func(m api.Model) bool { return m.ProviderID != offlineProvider || m.ID != offlineGuide }) {
		return nil, rpcErrorf(codeAuthRequired, "no provider has credentials yet: run cairn auth login in a terminal")
	}
	return struct{}{}, nil
}

// The model that answers where no other one can, which is no language model.
const (
	offlineProvider = "cairn"
	offlineGuide    = "guide"
)

// newSession creates a session.
func (a *agent) newSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.NewSessionRequest
	if err := a.decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, r.Cwd, r.MCPServers); err != nil {
		return nil, err
	}
	c := at(a.options.Client, r.Cwd)
	created, err := c.Create(ctx, api.CreateSession{Location: &session.Location{Directory: r.Cwd}, RequireModel: true})
	if err != nil {
		return nil, err
	}
	s, err := a.open(ctx, created)
	if err != nil {
		return nil, err
	}
	return later{a.currentDialect().session(created.ID, s.currentChoices()), s.start}, nil
}

// decodeSession reads the parameters of a request with a directory.
func (a *agent) decodeSession(params jsontext.Value, into any, cwd *string) error {
	if err := decodeParams(params, into); err != nil {
		return err
	}
	if !filepath.IsAbs(*cwd) {
		return rpcErrorf(codeInvalidParams, "cwd must be an absolute path, got %q", *cwd)
	}
	return nil
}

// loadSession opens a session and sends its transcript before the result.
func (a *agent) loadSession(ctx context.Context, params jsontext.Value) (any, error) {
	return a.reopen(ctx, params, true)
}

// resumeSession opens a session, with its transcript only if the client asks for it.
func (a *agent) resumeSession(ctx context.Context, params jsontext.Value) (any, error) {
	return a.reopen(ctx, params, false)
}

func (a *agent) reopen(ctx context.Context, params jsontext.Value, replays bool) (any, error) {
	var r v2.ResumeSessionRequest
	if err := a.decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	found, err := a.options.Client.Session(ctx, session.ID(r.SessionID))
	if err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, found.Location.Directory, r.MCPServers); err != nil {
		return nil, err
	}
	a.close(found.ID) // of an earlier request
	s, err := a.open(ctx, found)
	if err != nil {
		return nil, err
	}
	if replays || r.ReplayFrom != nil {
		if err := s.replay(ctx); err != nil {
			a.close(found.ID)
			return nil, err
		}
	}
	return later{a.currentDialect().choices(s.currentChoices()), s.start}, nil
}

// forkSession copies a session and opens the copy.
func (a *agent) forkSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.ForkSessionRequest
	if err := a.decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	forked, err := api.Forks{Client: a.options.Client}.ForkSession(ctx, session.ID(r.SessionID), api.ForkRequest{})
	if err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, forked.Location.Directory, r.MCPServers); err != nil {
		return nil, err
	}
	s, err := a.open(ctx, forked)
	if err != nil {
		return nil, err
	}
	return later{a.currentDialect().session(forked.ID, s.currentChoices()), s.start}, nil
}

// listSessions lists sessions, without subagents.
func (a *agent) listSessions(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.ListSessionsRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	root := session.ID("")
	page, err := a.options.Client.Sessions(ctx, api.SessionQuery{
		Directory: r.Cwd, Parent: &root, Cursor: r.Cursor, Archived: r.Archived != "" && r.Archived != v2.SessionArchiveFilterExclude,
	})
	if err != nil {
		return nil, err
	}
	out := v2.ListSessionsResponse{NextCursor: page.Cursor.Next}
	for _, s := range page.Data {
		out.Sessions = append(out.Sessions, v2.SessionInfo{
			SessionID: string(s.ID), Cwd: s.Location.Directory, Title: s.Title, Archived: s.Time.Archived != 0,
			UpdatedAt: time.UnixMilli(s.Time.Updated).UTC().Format(time.RFC3339),
		})
	}
	return out, nil
}

// closeSession ends what this client follows and began.
func (a *agent) closeSession(ctx context.Context, params jsontext.Value) (any, error) {
	s, err := a.find(params)
	if err != nil {
		return nil, err
	}
	s.cancelPrompts(ctx)
	a.close(s.id)
	return struct{}{}, nil
}

func (a *agent) deleteSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.DeleteSessionRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	a.close(session.ID(r.SessionID))
	return struct{}{}, a.options.Client.Delete(ctx, session.ID(r.SessionID))
}

// setMode selects the agent.
func (a *agent) setMode(ctx context.Context, params jsontext.Value) (any, error) {
	var r v1.SetSessionModeRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	s, err := a.find(params)
	if err != nil {
		return nil, err
	}
	return struct{}{}, s.choose(ctx, optionAgent, r.ModeID)
}

// setOption selects the agent, the model, or its effort.
func (a *agent) setOption(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.SetSessionConfigOptionRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	s, err := a.find(params)
	if err != nil {
		return nil, err
	}
	var value string
	if err := decodeParams(r.Value, &value); err != nil {
		return nil, err
	}
	if err := s.choose(ctx, r.ConfigID, value); err != nil {
		return nil, err
	}
	return a.currentDialect().options(s.currentChoices()), nil
}

// cancel stops the work of the prompts of this client.
func (a *agent) cancel(params jsontext.Value) {
	s, err := a.find(params)
	if err != nil {
		return
	}
	a.following.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(a.life), cancelTimeout)
		defer cancel()
		s.cancelPrompts(ctx)
	})
}

// cancelTimeout bounds how long an interrupt may take to be recorded.
const cancelTimeout = 20 * time.Second

// open begins to keep a session, which is followed once it is started.
func (a *agent) open(ctx context.Context, found *session.Session) (*liveSession, error) {
	s, err := newLiveSession(ctx, a, found)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sessions[found.ID] = s
	return s, nil
}

// close stops following a session.
func (a *agent) close(id session.ID) {
	a.mu.Lock()
	s := a.sessions[id]
	delete(a.sessions, id)
	a.mu.Unlock()
	if s != nil {
		s.stop()
	}
}

// find returns the session that the parameters name, which this client has opened.
func (a *agent) find(params jsontext.Value) (*liveSession, error) {
	var r struct {
		SessionID session.ID `json:"sessionId"`
	}
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[r.SessionID]
	if s == nil {
		return nil, rpcErrorf(codeNotFound, "the session %q is not open: create, load or resume it first", r.SessionID)
	}
	return s, nil
}

// addServers adds the client's MCP servers to a directory, those that are not there yet.
func (a *agent) addServers(ctx context.Context, directory string, servers []v2.MCPServer) error {
	for _, server := range servers {
		config := api.MCPConfig{MCPSource: api.MCPSource{Type: "remote", URL: server.URL, Headers: map[string]string{}}}
		for _, h := range server.Headers {
			config.Headers[h.Name] = h.Value
		}
		if server.URL == "" {
			config.MCPSource = api.MCPSource{
				Type: "local", Command: append([]string{server.Command}, server.Args...), Environment: map[string]string{},
			}
			for _, v := range server.Env {
				config.Environment[v.Name] = v.Value
			}
		}
		if server.Name == "" || server.URL == "" && server.Command == "" {
			return rpcErrorf(codeInvalidParams, "an MCP server needs a name, and a command or a URL")
		}
		// The same definition again would start the server anew.
		key, value := directory+"\x00"+server.Name, fmt.Sprint(server.URL, config.Command, slices.Sorted(maps.Keys(config.Headers)), config.Environment)
		a.mu.Lock()
		isKnown := a.servers[key] == value
		a.servers[key] = value
		a.mu.Unlock()
		if isKnown {
			continue
		}
		if err := at(a.options.Client, directory).AddMCP(ctx, server.Name, config); err != nil {
			return fmt.Errorf("add the MCP server %s: %w", server.Name, err)
		}
	}
	return nil
}
