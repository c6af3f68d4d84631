package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/tool"
)

// Run asks and calls the tool.
func (t serverTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	// A saved approval is for the tool as it is described now.
	resource := t.name + "@" + t.fingerprint
	request := tool.Request{
		Action: t.name, Resources: []string{resource}, Save: []string{resource}, Metadata: t.describeCall(call),
	}
	if err := call.Ask(ctx, request); err != nil {
		return tool.Output{}, err
	}
	options, directory := t.server.set.pool.options, t.server.set.directory
	if err := options.Approvals.note(ctx, directory, t.server.name, t.name, t.definition()); err != nil {
		options.Log.Warn("the approval of a tool is forgotten at the end", "tool", t.name, "error", err)
	}
	// Call it.
	params := &sdk.CallToolParams{Name: t.remote, Arguments: jsonBytes(call.Input)}
	result, err := t.server.callTool(ctx, call, params)
	if _, isTools := errors.AsType[*tool.Failure](err); isTools || err != nil && ctx.Err() != nil {
		return tool.Output{}, err
	}
	if err != nil {
		return tool.Output{}, tool.Failf("%s", t.server.describeFailure(err))
	}
	out := convertResult(call, t.server.name, result)
	if result.IsError {
		return tool.Output{}, tool.Failf("%s", cmp.Or(joinText(out.Content), "The tool failed and did not say why."))
	}
	return out, nil
}

// describeFailure returns the text of an error of callTool.
func (s *server) describeFailure(err error) string {
	if errors.Is(err, errNotConnected) {
		return describeError(err)
	}
	return fmt.Sprintf("The MCP server %s failed: %s", s.name, describeError(err))
}

// callTool calls a tool of the server. If the connection ended before the call was sent, it is sent once on the next
// connection. The call ends with ctx, and when the server shows no sign of life for idleCall.
func (s *server) callTool(
	ctx context.Context, call tool.Call, params *sdk.CallToolParams,
) (*sdk.CallToolResult, error) {
	// The server may ask and report progress while the call is in the table.
	ctx, alive, stop := withIdleLimit(ctx, idleCall)
	defer stop()
	remove := s.calls.add(runningCall{call, alive, ctx.Done()}, params)
	defer remove()
	for again := true; ; again = false {
		conn, err := s.openSession(ctx)
		if err != nil {
			return nil, err
		}
		result, err := conn.CallTool(ctx, params)
		// A refusal for want of a login ends the connection.
		if login, ok := errors.AsType[*LoginError](err); ok {
			select {
			case conn.refused <- login:
			default:
			}
			return nil, fmt.Errorf("the MCP server %s is %w: %w", s.name, errNotConnected, login)
		}
		// Return the outcome, unless the call was never sent.
		switch {
		case err != nil && ctx.Err() != nil:
			remove()
			s.noteSilence(conn, ctx.Err())
			return nil, context.Cause(ctx)
		case err != nil && isConnectionEnd(err) && (!again || !isUnsent(err)):
			return nil, s.explain(err, conn.child)
		case !again || !isUnsent(err):
			return result, err
		}
		s.dropConnection(conn)
	}
}

// isUnsent reports whether a call failed because the connection had ended before. The SDK returns ErrConnectionClosed
// also for an answer of the server with one of the SDK's own error codes; its text differs.
func isUnsent(err error) bool {
	return errors.Is(err, sdk.ErrConnectionClosed) && strings.Contains(err.Error(), "client is closing")
}

// jsonBytes is JSON that the SDK sends as it is.
type jsonBytes []byte

// MarshalJSON implements the interface of encoding/json, which the SDK uses.
func (b jsonBytes) MarshalJSON() ([]byte, error) { return b, nil }

// idleCall bounds the time between two signs of life of a call.
const idleCall = 5 * time.Minute

// errIdle ends a call whose server shows no sign of life.
var errIdle = tool.Failf(
	"The MCP server did not answer within %v and reported no progress, so the call was ended.", idleCall,
)

// withIdleLimit returns a context that ends when alive was not called for d. stop releases it.
func withIdleLimit(ctx context.Context, d time.Duration) (_ context.Context, alive, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	timer := time.AfterFunc(d, func() { cancel(errIdle) })
	return ctx, func() { timer.Reset(d) }, func() { timer.Stop(); cancel(nil) }
}

// callTable holds the calls that a server works on. The zero value is ready to use.
type callTable struct {
	mu    sync.Mutex // guards the rest
	last  int64
	calls map[string]runningCall // by the token of their progress
	// The newest call that ended before its answer, and when; 0 is none. The server may still work on it.
	cut   int64
	cutAt time.Time
}

// cutTime is how long a server is taken to work on a call that ended before its answer.
const cutTime = time.Minute

// runningCall is a call that a server works on.
type runningCall struct {
	call  tool.Call
	alive func()
	done  <-chan struct{} // closed when the call has ended
}

// add adds a call, whose parameters get the token of its progress. The returned function removes it.
func (c *callTable) add(running runningCall, params *sdk.CallToolParams) (remove func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	number := c.last
	token := strconv.FormatInt(number, 10)
	if c.calls == nil {
		c.calls = map[string]runningCall{}
	}
	c.calls[token] = running
	params.SetProgressToken(token)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, ok := c.calls[token]; !ok {
			return
		}
		delete(c.calls, token)
		select {
		case <-running.done:
			c.cut, c.cutAt = number, time.Now()
		default: // most servers work on one call after the other: an answer says that earlier ones are over
			if number > c.cut {
				c.cut = 0
			}
		}
	}
}

// mayHaveWork reports whether the server may work on a call.
func (c *callTable) mayHaveWork() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls) > 0 || c.cut > 0 && time.Since(c.cutAt) < cutTime
}

// count returns how many calls run.
func (c *callTable) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.calls)
}

// findOnlySession returns a call of the session that all running calls belong to; false without running calls, or if
// they belong to several sessions.
func (c *callTable) findOnlySession() (found runningCall, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, r := range c.calls {
		if ok && r.call.SessionID != found.call.SessionID {
			return runningCall{}, false
		}
		found, ok = r, true
	}
	return found, ok
}

// noteProgress passes what a server reports of a call on.
func (c *callTable) noteProgress(p *sdk.ProgressNotificationParams) {
	token, _ := p.ProgressToken.(string)
	c.mu.Lock()
	found, ok := c.calls[token]
	c.mu.Unlock()
	if !ok {
		return
	}
	found.alive()
	text := cutText(p.Message, 200)
	if p.Total > 0 {
		text = strings.TrimSpace(fmt.Sprintf("%.0f of %.0f %s", p.Progress, p.Total, text))
	}
	if text != "" && found.call.Progress != nil {
		found.call.Progress(tool.Output{Title: text})
	}
}
