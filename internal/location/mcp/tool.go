package mcp

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairn-dev/cairn/internal/tool"
)

// ToolInfo describes a tool of a server for people.
type ToolInfo struct {
	Name        string // of the tool for models
	Remote      string // what the server calls it
	Description string
	ReadOnly    bool // the server says so, which proves nothing
	Destructive bool // as above
}

// remoteTool is a tool as its server describes it. It never changes.
type remoteTool struct {
	name        string // for models
	remote      string // for the server
	description string
	schema      jsontext.Value
	hints       sdk.ToolAnnotations
	fingerprint string // of all that a model reads of it
}

// newRemoteTool returns a tool that models can be offered, or why it cannot be.
func newRemoteTool(server string, t *sdk.Tool) (*remoteTool, error) {
	if t.Name == "" {
		return nil, errors.New("it has no name")
	}
	schema, err := json.Marshal(t.InputSchema, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	switch {
	case err != nil:
		return nil, fmt.Errorf("its schema: %w", err)
	case jsontext.Value(schema).Kind() != '{':
		return nil, errors.New("its schema is not an object")
	case len(schema) > maxSchema:
		return nil, fmt.Errorf("its schema has %d bytes, the limit is %d", len(schema), maxSchema)
	}
	out := &remoteTool{
		name: toolName(server, t.Name), remote: t.Name, schema: schema,
		description: cutText(cmp.Or(t.Description, t.Title, t.Name), maxDescription),
	}
	if t.Annotations != nil {
		out.hints = *t.Annotations
	}
	sum := sha256.Sum256([]byte(out.name + "\x00" + out.description + "\x00" + string(schema)))
	out.fingerprint = hex.EncodeToString(sum[:8])
	return out, nil
}

func (t *remoteTool) definition() Definition {
	return Definition{t.fingerprint, t.description, t.schema}
}

func (t *remoteTool) info() ToolInfo {
	return ToolInfo{
		Name: t.name, Remote: cutText(t.remote, maxName), Description: t.description, ReadOnly: t.hints.ReadOnlyHint,
		Destructive: t.hints.DestructiveHint != nil && *t.hints.DestructiveHint,
	}
}

// cutText returns the first n bytes of a text without control characters, and says if there were more.
func cutText(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + fmt.Sprintf("… (%d more bytes)", len(text)-n)
}

// serverTool is a tool of a server in the registry of a location.
type serverTool struct {
	server *server
	*remoteTool
}

// Definition describes the tool. Its text is the one that a person has allowed last, if there is one.
func (t serverTool) Definition() tool.Definition {
	d := tool.Definition{Name: t.name, Description: t.description, Schema: t.schema, Action: t.name}
	if before, ok := t.approved(); ok && before.Fingerprint != t.fingerprint {
		d.Description, d.Schema = before.Description, before.Schema
	}
	return d
}

// isShownAs reports whether models read that of the tool.
func (t serverTool) isShownAs(d tool.Definition) bool {
	now := t.Definition()
	return now.Description == d.Description && bytes.Equal(now.Schema, d.Schema)
}

// approved returns the tool as a person has allowed it last.
func (t serverTool) approved() (Definition, bool) {
	a := t.server.set.pool.options.Approvals
	if a == nil {
		return Definition{}, false
	}
	return a.find(t.server.set.directory, t.name)
}

// idleCall bounds the time between two signs of life of a call.
const idleCall = 5 * time.Minute

// Run asks and calls the tool.
func (t serverTool) Run(ctx context.Context, call tool.Call) (tool.Output, error) {
	// A saved approval is for the tool as it is described now.
	resource := t.name + "@" + t.fingerprint
	request := tool.Request{Action: t.name, Resources: []string{resource}, Save: []string{resource}, Metadata: t.describeCall(call)}
	if err := call.Ask(ctx, request); err != nil {
		return tool.Output{}, err
	}
	if a := t.server.set.pool.options.Approvals; a != nil {
		a.note(t.server.set.directory, t.name, t.definition())
	}
	ctx, alive, stop := withIdleLimit(ctx, idleCall)
	defer stop()
	params := &sdk.CallToolParams{Name: t.remote, Arguments: jsonBytes(call.Input)}
	defer t.server.calls.add(runningCall{call, alive, ctx.Done()}, params)()
	result, err := t.server.callTool(ctx, params)
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Output{}, context.Cause(ctx)
	case errors.Is(err, errNotConnected):
		return tool.Output{}, tool.Failf("%s", describeError(err))
	case err != nil:
		return tool.Output{}, tool.Failf("The MCP server %s failed: %s", t.server.name, describeError(err))
	}
	out := convertResult(call, t.server.name, result)
	if result.IsError {
		return tool.Output{}, tool.Failf("%s", cmp.Or(joinText(out.Content), "The tool failed and did not say why."))
	}
	return out, nil
}

// callTool calls a tool of the server, also if the connection has just ended: then the call was not sent, and it is
// made once on the next connection.
func (s *server) callTool(ctx context.Context, params *sdk.CallToolParams) (*sdk.CallToolResult, error) {
	for again := true; ; again = false {
		session, err := s.openSession(ctx)
		if err != nil {
			return nil, err
		}
		result, err := session.CallTool(ctx, params)
		if login, ok := errors.AsType[*LoginError](err); ok {
			select {
			case s.refused <- login:
			default:
			}
			return nil, fmt.Errorf("the MCP server %s is %w: %w", s.name, errNotConnected, login)
		}
		if !again || !errors.Is(err, sdk.ErrConnectionClosed) {
			return result, err
		}
		s.dropSession(session)
	}
}

// jsonBytes is JSON that the SDK sends as it is.
type jsonBytes []byte

// MarshalJSON implements the interface of encoding/json, which the SDK uses.
func (b jsonBytes) MarshalJSON() ([]byte, error) { return b, nil }

// describeCall returns what a permission request shows of the call. If the server has changed the tool since a person
// allowed it, that is the difference.
func (t serverTool) describeCall(call tool.Call) jsontext.Value {
	meta := map[string]any{"server": t.server.name, "tool": t.remote, "input": call.Input}
	if t.hints.ReadOnlyHint {
		meta["readOnlyHint"] = true
	}
	if t.hints.DestructiveHint != nil {
		meta["destructiveHint"] = *t.hints.DestructiveHint
	}
	if before, ok := t.approved(); ok && before.Fingerprint != t.fingerprint {
		meta["diff"] = before.compare(t.definition())
	}
	return tool.EncodeObject(meta)
}

// errIdle ends a call whose server shows no sign of life.
var errIdle = tool.Failf("The MCP server did not answer within %v and reported no progress, so the call was ended.", idleCall)

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
	calls map[int64]runningCall
}

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
	id := c.last
	if c.calls == nil {
		c.calls = map[int64]runningCall{}
	}
	c.calls[id] = running
	params.SetProgressToken(fmt.Sprint(id))
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, id)
	}
}

// newest returns the call that began last; false without running calls.
func (c *callTable) newest() (runningCall, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) == 0 {
		return runningCall{}, false
	}
	return c.calls[slices.Max(slices.Collect(maps.Keys(c.calls)))], true
}

// noteProgress passes what a server reports of a call on.
func (c *callTable) noteProgress(p *sdk.ProgressNotificationParams) {
	c.mu.Lock()
	var found runningCall
	for id, r := range c.calls {
		if fmt.Sprint(id) == fmt.Sprint(p.ProgressToken) {
			found = r
		}
	}
	c.mu.Unlock()
	if found.alive == nil {
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
