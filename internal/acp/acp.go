// Package acp serves the Agent Client Protocol (https://agentclientprotocol.com): an editor starts cairn and speaks
// JSON-RPC with it over its standard input and output. It is a client of the API: the sessions are cairn's own, with
// their ids, and other clients see them.
//
// Both versions of the protocol have the same content in different forms. What happens in a session becomes updates
// (update.go), which a dialect (dialect1.go, dialect2.go) writes in the form of the version that the client negotiated.
//
//	editor ── initialize, session/new, session/prompt … ──> agent ──> client/api
//	editor <── session/update, session/request_permission ── liveSession <── client/follow
package acp

import (
	"cmp"
	"context"
	"errors"
	"io"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/cairn-dev/cairn/internal/client/api"
	"github.com/cairn-dev/cairn/internal/session"
)

// Options of Serve.
type Options struct {
	Client  *api.Client // its directory is that of requests which name none
	Version string      // of cairn
	// Reconnected has a value after Client got another connection, which may be to another process; nil if it never does.
	Reconnected <-chan struct{}
	// LoginCommand is the arguments of this program for logging in at a provider in a terminal.
	LoginCommand []string
}

// Serve answers the client until its messages end, or ctx does. Work that it began goes on at the server.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	a := &agent{
		options: o, conn: newConn(out), sessions: map[session.ID]*liveSession{}, servers: addedServers{}, life: ctx,
	}
	a.following.Go(func() { a.followConnections(ctx) })
	err := a.conn.serve(ctx, in, handler{begin: a.begin, notify: a.notify})
	cancel()
	a.following.Wait()
	return err
}

// decodeParams reads the parameters of a request. Members that the protocol does not have are ignored.
func decodeParams(params jsontext.Value, into any) error {
	if len(params) == 0 {
		return rpcErrorf(codeInvalidParams, "the parameters are missing")
	}
	err := json.Unmarshal(params, into, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if e, ok := errors.AsType[*json.SemanticError](err); ok {
		return rpcErrorf(codeInvalidParams, "the parameters are not valid: %s cannot be %s",
			cmp.Or(string(e.JSONPointer), "the whole"), nameKind(e.JSONKind))
	}
	if err != nil {
		return rpcErrorf(codeInvalidParams, "the parameters are not valid: %v", err)
	}
	return nil
}

// nameKind returns what a person calls a kind of JSON value.
func nameKind(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "this string"
	case '0':
		return "this number"
	case 'n':
		return "null"
	default:
		return "a boolean"
	}
}

// describeError returns an error in the form of the protocol.
func describeError(err error) *rpcError {
	if e, ok := errors.AsType[*rpcError](err); ok {
		return e
	}
	e, ok := errors.AsType[*session.Error](err)
	switch {
	case !ok:
		return rpcErrorf(codeInternal, "%v", err)
	case e.Code == session.CodeNotFound && e.Kind == "session":
		return rpcErrorf(codeNotFound, "%v", err)
	case e.Code == session.CodeDenied && e.Kind == api.KindAuth:
		return rpcErrorf(codeAuthRequired, "%v", err)
	case e.Code == session.CodeInvalid, e.Code == session.CodeNotFound, e.Code == session.CodeTooLarge:
		return rpcErrorf(codeInvalidParams, "%v", err)
	default:
		return rpcErrorf(codeInternal, "%v", err)
	}
}

// at returns a client whose location is the directory.
func at(c *api.Client, directory string) *api.Client { return c.In(directory) }
