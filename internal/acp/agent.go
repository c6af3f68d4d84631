package acp

import (
	"cmp"
	"context"
	"os"
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
	servers  addedServers
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
	case "session/set_mode", "session/set_config_option": // for the prompts that are sent behind it
		return a.inOrder(d, method, params)
	}
	call := a.findMethod(d, method)
	if call == nil {
		return nil
	}
	return func(ctx context.Context) (any, error) { return call(ctx, params) }
}

// findMethod returns what answers a request in the version of the protocol, nil for an unknown method.
func (a *agent) findMethod(d dialect, name string) func(context.Context, jsontext.Value) (any, error) {
	m := a.methods()[name]
	if _, isV1 := d.(dialect1); m == nil || m.v1Only && !isV1 || m.v2Only && isV1 {
		return nil
	}
	return m.call
}

// inOrder begins a request that takes effect before those that the client sends behind it.
func (a *agent) inOrder(d dialect, method string, params jsontext.Value) func(context.Context) (any, error) {
	call := a.findMethod(d, method)
	if call == nil {
		return nil
	}
	s, err := a.find(params)
	if err != nil {
		return result(nil, err)
	}
	place := s.takePlace()
	return func(ctx context.Context) (any, error) {
		defer place.pass()
		if err := place.wait(ctx); err != nil {
			return nil, err
		}
		return call(ctx, params)
	}
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
		"auth/logout":               {call: a.logOut, v2Only: true},
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
	if a.dialect != nil {
		return nil, rpcErrorf(codeInvalidRequest, "the connection is initialized already")
	}
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
func (a *agent) authenticate(ctx context.Context, params jsontext.Value) (any, error) {
	var r struct {
		MethodID string `json:"methodId"`
	}
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	if r.MethodID != loginID && r.MethodID != loginID+loginTerminal {
		return nil, rpcErrorf(codeInvalidParams, "there is no way to log in %q", r.MethodID)
	}
	models, err := a.options.Client.Models(ctx)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(models.Data, func(m api.Model) bool { return !m.IsGuide() }) {
		return nil, rpcErrorf(codeAuthRequired, "no provider has credentials yet: run cairn auth login in a terminal")
	}
	return struct{}{}, nil
}

// logOut changes nothing: the credentials are those of all programs that use cairn, and of several providers.
func (a *agent) logOut(context.Context, jsontext.Value) (any, error) {
	return nil, rpcErrorf(codeInvalidRequest, "cairn keeps the credentials of several providers; to delete one, run cairn auth logout in a terminal")
}

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
	return a.openNew(ctx, created)
}

// openNew opens a session that the client does not know yet.
func (a *agent) openNew(ctx context.Context, created *session.Session) (any, error) {
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
	id, err := parseID(r.SessionID)
	if err != nil {
		return nil, err
	}
	found, err := a.options.Client.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if r.ReplayFrom != nil && r.ReplayFrom.Type != "start" {
		return nil, rpcErrorf(codeInvalidParams, "a replay can begin at the start only, not at %q", r.ReplayFrom.Type)
	}
	if !isSameDirectory(r.Cwd, found.Location.Directory) {
		return nil, rpcErrorf(codeInvalidParams, "the session %q works in %s, not in %s", found.ID, found.Location.Directory, r.Cwd)
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
		err = s.replay(ctx)
	}
	if err = cmp.Or(err, s.tellFirstState(ctx)); err != nil {
		a.closeIf(s)
		return nil, err
	}
	return later{a.currentDialect().choices(s.currentChoices()), s.start}, nil
}

// isSameDirectory reports whether two paths name one directory, also through links.
func isSameDirectory(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// forkSession copies a session and opens the copy.
func (a *agent) forkSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.ForkSessionRequest
	if err := a.decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	id, err := parseID(r.SessionID)
	if err != nil {
		return nil, err
	}
	// Add the servers first: their error must not leave a fork behind.
	source, err := a.options.Client.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, source.Location.Directory, r.MCPServers); err != nil {
		return nil, err
	}
	forked, err := api.Forks{Client: a.options.Client}.ForkSession(ctx, id, api.ForkRequest{})
	if err != nil {
		return nil, err
	}
	return a.openNew(ctx, forked)
}

// listSessions lists sessions, without subagents.
func (a *agent) listSessions(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.ListSessionsRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	if r.Cwd != "" && !filepath.IsAbs(r.Cwd) {
		return nil, rpcErrorf(codeInvalidParams, "cwd must be an absolute path, got %q", r.Cwd)
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

// deleteSession deletes a session, and stops what it does.
func (a *agent) deleteSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.DeleteSessionRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	id, err := parseID(r.SessionID)
	if err != nil {
		return nil, err
	}
	a.close(id)
	return struct{}{}, a.options.Client.Delete(ctx, id)
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

// maxSessions bounds the sessions that a client has open at once.
const maxSessions = 256

// open begins to keep a session, which is followed once it is started.
func (a *agent) open(ctx context.Context, found *session.Session) (*liveSession, error) {
	s, err := openSession(ctx, a, found)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	before := a.sessions[found.ID]
	if before == nil && len(a.sessions) >= maxSessions {
		a.mu.Unlock()
		return nil, rpcErrorf(codeInvalidRequest, "%d sessions are open; close one first", maxSessions)
	}
	a.sessions[found.ID] = s
	a.mu.Unlock()
	if before != nil { // another request has opened it meanwhile
		before.stop()
	}
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

// closeIf stops following a session that could not be opened, unless another request has opened it.
func (a *agent) closeIf(s *liveSession) {
	a.mu.Lock()
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
	a.mu.Unlock()
	s.stop()
}

// find returns the session that the parameters name, which this client has opened.
func (a *agent) find(params jsontext.Value) (*liveSession, error) {
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	id, err := parseID(r.SessionID)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.sessions[id]
	if s == nil {
		return nil, rpcErrorf(codeNotFound, "the session %q is not open: create, load or resume it first", r.SessionID)
	}
	return s, nil
}

// parseID returns the id of a session. A text that cannot be one is an error like that for an unknown session.
func parseID(id string) (session.ID, error) {
	if id == "" {
		return "", rpcErrorf(codeInvalidParams, "sessionId is missing")
	}
	if session.CheckID("sessionId", session.PrefixSession, id) != nil {
		return "", rpcErrorf(codeNotFound, "session %q not found", session.ClipText(id, 80))
	}
	return session.ID(id), nil
}
