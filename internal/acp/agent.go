package acp

import (
	"context"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	v1 "github.com/cairn-dev/cairn/internal/acp/v1"
	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/session"
)

// agent answers one client.
type agent struct {
	options   Options
	conn      *conn
	life      context.Context // of the connection: a session is followed longer than the request that opens it
	ids       session.IDs
	following sync.WaitGroup
	feeding   sync.Once // starts forwardOutput

	mu       sync.Mutex // guards the rest
	dialect  dialect    // nil before initialize
	methods  map[string]method
	features clientFeatures
	sessions map[session.ID]*liveSession
	servers  addedServers
}

// method is an entry of the table of methods that a dialect has.
type method struct {
	// begin begins to answer, in the order of the messages, and does not wait. The answerer does the rest.
	begin          func(params jsontext.Value) answerer
	isNotification bool // it needs no id, because begin does all of it
}

// begin begins to answer a request.
func (a *agent) begin(name string, params jsontext.Value) answerer {
	if name == "initialize" {
		return returnResult(a.initialize(params))
	}
	m, err := a.findMethod(name)
	switch {
	case err != nil:
		return returnResult(nil, err)
	case m.begin == nil:
		return nil
	}
	return m.begin(params)
}

// notify takes a notification. Others than those of the protocol, and requests without an id, are ignored.
func (a *agent) notify(name string, params jsontext.Value) {
	if m, _ := a.findMethod(name); m.isNotification {
		m.begin(params)
	}
}

// findMethod returns a method of the negotiated version; one without begin does not exist.
func (a *agent) findMethod(name string) (method, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dialect == nil {
		return method{}, rpcErrorf(codeInvalidRequest, "the first request must be initialize")
	}
	return a.methods[name], nil
}

// listSharedMethods returns the methods that all versions have.
func (a *agent) listSharedMethods() map[string]method {
	return map[string]method{
		"session/new":               answerBeside(a.newSession),
		"session/resume":            answerBeside(a.resumeSession),
		"session/fork":              answerBeside(a.forkSession),
		"session/list":              answerBeside(a.listSessions),
		"session/close":             answerBeside(a.closeSession),
		"session/delete":            answerBeside(a.deleteSession),
		"session/prompt":            {begin: a.prompt}, // begins at once, so that a cancel behind it finds it
		"session/set_config_option": a.answerInOrder((*liveSession).setOption),
		"session/cancel":            {begin: a.cancel, isNotification: true},
	}
}

// answerBeside returns a method that is answered beside others.
func answerBeside(call func(context.Context, jsontext.Value) (any, error)) method {
	return method{begin: func(params jsontext.Value) answerer {
		return func(ctx context.Context) (any, error) { return call(ctx, params) }
	}}
}

// answerInOrder returns a method that changes an open session: it takes effect behind the requests before it that
// change the session, and before those that the client sends behind it.
func (a *agent) answerInOrder(call func(*liveSession, context.Context, jsontext.Value) (any, error)) method {
	return method{begin: func(params jsontext.Value) answerer {
		s, err := a.find(params)
		if err != nil {
			return returnResult(nil, err)
		}
		slot := s.acquireSlot()
		return func(ctx context.Context) (any, error) {
			defer slot.release()
			if err := slot.wait(ctx); err != nil {
				return nil, err
			}
			return call(s, ctx, params)
		}
	}}
}

// returnResult returns an answerer for a result that is known already.
func returnResult(v any, err error) answerer {
	return func(context.Context) (any, error) { return v, err }
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
	// A second one must not change what the sessions go by.
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.dialect != nil {
		return nil, rpcErrorf(codeInvalidRequest, "the connection is initialized already")
	}
	// Note what the client can do, which each version says in its own form.
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
	a.methods = a.dialect.methods(a)
	return a.dialect.initialize(a.options), nil
}
