package acp

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	v2 "github.com/cairn-dev/cairn/internal/acp/v2"
	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// maxSessions bounds the sessions that a client has open at once. Each takes one of the 64 event streams that the
// server gives a process by default, and one stream has the output of all; the others are for subagents.
const maxSessions = 32

// errNoRoom is the error of a request that would open another session.
var errNoRoom = rpcErrorf(codeInvalidRequest, "%d sessions are open in this editor, as many as can be: close one "+
	"(session/close), or restart the agent in the editor; sessions and their work are kept", maxSessions)

// newSession creates a session.
func (a *agent) newSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.NewSessionRequest
	if err := decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	if err := a.checkRoom(); err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, r.Cwd, r.MCPServers); err != nil {
		return nil, err
	}
	c := at(a.options.Client, r.Cwd)
	creating, stop := withGrace(ctx, admitGrace) // a cancelled request must know what it leaves behind
	defer stop()
	created, err := c.Create(creating, api.CreateSession{Location: &session.Location{Directory: r.Cwd}, RequireModel: true})
	if err != nil {
		return nil, err
	}
	return a.openNew(ctx, created, r.MCPServers)
}

// forkSession copies a session and opens the copy. The room and the servers come first: their error must not leave a
// fork behind.
func (a *agent) forkSession(ctx context.Context, params jsontext.Value) (any, error) {
	var r v2.ForkSessionRequest
	if err := decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	source, err := a.readSession(ctx, r.SessionID, r.Cwd)
	if err != nil {
		return nil, err
	}
	if err := a.checkRoom(); err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, source.Location.Directory, r.MCPServers); err != nil {
		return nil, err
	}
	forking, stop := withGrace(ctx, admitGrace)
	defer stop()
	forked, err := api.Forks{Client: a.options.Client}.ForkSession(forking, source.ID, api.ForkRequest{})
	if err != nil {
		return nil, err
	}
	return a.openNew(ctx, forked, r.MCPServers)
}

// openNew opens a session that the client does not know yet. One that cannot be opened is deleted.
func (a *agent) openNew(ctx context.Context, created *session.Session, servers []v2.MCPServer) (any, error) {
	s, err := openSession(ctx, a, created, servers)
	if err == nil {
		_, err = a.keep(s)
	}
	if err != nil {
		deleting, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTimeout)
		defer cancel()
		_ = a.options.Client.Delete(deleting, created.ID) // without a server it stays, and is empty or a copy
		return nil, err
	}
	return openResult{a.currentDialect().session(created.ID, s.currentChoices()), s.start}, nil
}

// loadSession opens a session and sends its transcript before the result.
func (a *agent) loadSession(ctx context.Context, params jsontext.Value) (any, error) {
	return a.reopen(ctx, params, true)
}

// resumeSession opens a session, with its transcript only if the client asks for it.
func (a *agent) resumeSession(ctx context.Context, params jsontext.Value) (any, error) {
	return a.reopen(ctx, params, false)
}

// reopen opens a session that exists. One that the client has open already goes on, with its prompts: the client is only
// sent what it wants to see again.
func (a *agent) reopen(ctx context.Context, params jsontext.Value, replays bool) (any, error) {
	// Check what the client wants.
	var r v2.ResumeSessionRequest
	if err := decodeSession(params, &r, &r.Cwd); err != nil {
		return nil, err
	}
	if r.ReplayFrom != nil && r.ReplayFrom.Type != "start" {
		return nil, rpcErrorf(codeInvalidParams, "a replay can begin at the start only, not at %q", r.ReplayFrom.Type)
	}
	replays = replays || r.ReplayFrom != nil
	found, err := a.readSession(ctx, r.SessionID, r.Cwd)
	if err != nil {
		return nil, err
	}
	s := a.lookUp(found.ID)
	if s == nil {
		err = a.checkRoom()
	}
	if err != nil {
		return nil, err
	}
	if err := a.addServers(ctx, found.Location.Directory, r.MCPServers); err != nil {
		return nil, err
	}
	// Send what the client wants, and follow the session.
	if s != nil {
		if err := s.reload(ctx, replays); err != nil {
			return nil, err
		}
		s.setServers(r.MCPServers)
		settings := func() { a.following.Go(func() { s.sendSettings(a.life) }) }
		return openResult{a.currentDialect().choices(s.currentChoices()), settings}, nil
	}
	s, err = openSession(ctx, a, found, r.MCPServers)
	if err == nil && replays {
		err = s.replay(ctx)
	}
	if err == nil {
		err = s.reportFirstState(ctx)
	}
	if err != nil {
		return nil, err
	}
	other, err := a.keep(s)
	switch {
	case err != nil:
		return nil, err
	case other != nil:
		return a.currentDialect().choices(other.currentChoices()), nil
	}
	return openResult{a.currentDialect().choices(s.currentChoices()), s.start}, nil
}

// readSession returns the session that a request names, which must work in the directory that the request names.
func (a *agent) readSession(ctx context.Context, name, directory string) (*session.Session, error) {
	id, err := parseID(name)
	if err != nil {
		return nil, err
	}
	found, err := a.options.Client.Session(ctx, id)
	if err != nil {
		return nil, err
	}
	if !isSameDirectory(directory, found.Location.Directory) {
		return nil, rpcErrorf(codeInvalidParams,
			"the session %q works in %s, not in %s: open it there, or move it in a terminal with cairn session move",
			found.ID, found.Location.Directory, directory)
	}
	return found, nil
}

// decodeSession reads the parameters of a request with a directory.
func decodeSession(params jsontext.Value, into any, cwd *string) error {
	if err := decodeParams(params, into); err != nil {
		return err
	}
	return checkDirectory(*cwd)
}

// maxPath bounds a path in bytes, as Linux does, and the cursor of a list: the API has both in an address, which HTTP
// servers do not read if it is too long.
const maxPath = 4096

func checkDirectory(cwd string) error {
	if !filepath.IsAbs(cwd) || len(cwd) > maxPath {
		return rpcErrorf(codeInvalidParams, "cwd must be an absolute path of at most %d bytes, got %q", maxPath, session.ClipText(cwd, 200))
	}
	return nil
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

// sessionsOfPage is the number of sessions on a page of session/list.
const sessionsOfPage = 50

// listSessions lists sessions, without subagents. A page of archived sessions only may be short, or empty.
func (a *agent) listSessions(ctx context.Context, params jsontext.Value) (any, error) {
	// Make a query of the request.
	var r v2.ListSessionsRequest
	if err := decodeParams(params, &r); err != nil {
		return nil, err
	}
	if r.Cwd != "" {
		if err := checkDirectory(r.Cwd); err != nil {
			return nil, err
		}
	}
	if len(r.Cursor) > maxPath {
		return nil, rpcErrorf(codeInvalidParams, "the cursor is not one of session/list")
	}
	root := session.ID("")
	q := api.SessionQuery{Directory: r.Cwd, Parent: &root, Cursor: r.Cursor, Limit: sessionsOfPage}
	switch r.Archived {
	case "", v2.SessionArchiveFilterExclude:
	case v2.SessionArchiveFilterInclude, v2.SessionArchiveFilterOnly:
		q.Archived = true
	default:
		return nil, rpcErrorf(codeInvalidParams, "archived must be exclude, include or only, got %q", r.Archived)
	}
	page, err := a.options.Client.Sessions(ctx, q)
	if err != nil {
		return nil, err
	}
	// The API has a cursor behind every page; here only one that leads to more is returned. A page that is not full is the last.
	if len(page.Data)+page.Damaged < sessionsOfPage {
		page.Cursor.Next = ""
	}
	if page.Cursor.Next != "" {
		rest, err := a.options.Client.Sessions(ctx, api.SessionQuery{Cursor: page.Cursor.Next, Limit: 1})
		if err != nil {
			return nil, err
		}
		if len(rest.Data)+rest.Damaged == 0 {
			page.Cursor.Next = ""
		}
	}
	// Write the page in the form of the protocol.
	out := v2.ListSessionsResponse{Sessions: []v2.SessionInfo{}, NextCursor: page.Cursor.Next}
	for _, s := range page.Data {
		isArchived := s.Time.Archived != 0
		if r.Archived == v2.SessionArchiveFilterOnly && !isArchived {
			continue
		}
		out.Sessions = append(out.Sessions, v2.SessionInfo{
			SessionID: string(s.ID), Cwd: s.Location.Directory, Title: s.Title, Archived: isArchived,
			UpdatedAt: time.UnixMilli(s.Time.Updated).UTC().Format(time.RFC3339),
		})
	}
	return out, nil
}

// closeSession stops the work of a session and ends to follow it. The client has the end of the work before the answer.
func (a *agent) closeSession(ctx context.Context, params jsontext.Value) (any, error) {
	s, err := a.find(params)
	if e, ok := errors.AsType[*rpcError](err); ok && e.Code == codeNotFound {
		return struct{}{}, nil
	}
	if err != nil {
		return nil, err
	}
	stopping, cancel := context.WithTimeout(ctx, cancelTimeout)
	defer cancel()
	s.markCancelled()
	if s.isAtWork(stopping) {
		s.stopWork(stopping)
		s.awaitIdle(stopping)
	}
	a.close(s.id)
	return struct{}{}, nil
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

// checkRoom returns an error if no further session can be opened.
func (a *agent) checkRoom() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.sessions) >= maxSessions {
		return errNoRoom
	}
	return nil
}

// keep adds a session to those that are open. It returns the one of the id that another request has opened meanwhile,
// which stays.
func (a *agent) keep(s *liveSession) (other *liveSession, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if other = a.sessions[s.id]; other != nil {
		return other, nil
	}
	if len(a.sessions) >= maxSessions { // another request has taken the last room
		return nil, errNoRoom
	}
	a.sessions[s.id] = s
	return nil, nil
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

// drop removes a session that cannot be followed any more.
func (a *agent) drop(s *liveSession) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
}

// lookUp returns an open session, nil if it is not open.
func (a *agent) lookUp(id session.ID) *liveSession {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sessions[id]
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
	s := a.lookUp(id)
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
